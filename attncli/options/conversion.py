"""Quick conversion of option values: texts, paths, choices, and options that are not given.

Typer converts every value with pydantic, whose import takes longer than the rest of a start
(70 ms). Values that need no check are converted here; the others, and every error, are left to
Typer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

UNKNOWN = object()  # a value that Typer converts


def convert_quickly(command: Any, function: Callable[..., Any] | None = None) -> Any:
    """Make a click command convert usual values itself, and return it.

    function: the function that its parameters are the parameters of.
    """
    kinds = get_type_hints(function) if function else {}
    params_of = command.get_params

    def get_params(ctx: Any) -> list[Any]:  # --help is not in command.params
        params: list[Any] = params_of(ctx)
        for param in params:
            if "process_value" not in vars(param):
                param.process_value = partial(_process, param, kinds, param.process_value)
        return params

    command.get_params = get_params
    return command


def converted(value: Any, kind: Any) -> Any:
    """Return a value from the command line as a type; UNKNOWN if it needs a check."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        kinds = [one for one in get_args(kind) if one is not type(None)]
        return converted(value, kinds[0]) if len(kinds) == 1 else UNKNOWN
    if origin is Literal:
        return value if value in get_args(kind) else UNKNOWN
    if kind is str and isinstance(value, str):
        return value
    if kind is Path and isinstance(value, str):
        return Path(value)
    if origin is list and isinstance(value, (list, tuple)):
        found = [converted(one, get_args(kind)[0]) for one in value]
        return UNKNOWN if UNKNOWN in found else found
    return UNKNOWN


def _process(
    param: Any,
    kinds: Mapping[str, Any],
    by_typer: Callable[[Any, Any], Any],
    ctx: Any,
    value: Any,
) -> Any:
    """Return the value of a parameter; replaces `click.Parameter.process_value`."""
    is_single = param.nargs == 1 and not getattr(param, "multiple", False)
    if param.required:
        found = UNKNOWN
    elif value is None:
        found = None if is_single else ()
    elif is_single and value is param.default:
        found = value
    else:
        found = converted(value, kinds.get(param.name))
    if found is UNKNOWN:
        try:
            return by_typer(ctx, value)
        except typer.BadParameter as error:  # without pydantic's kind of error
            error.message = error.message.removeprefix("Value error, ")
            raise
    return param.callback(ctx, param, found) if param.callback else found
