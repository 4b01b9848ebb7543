"""Types of the arguments that a program gives: those of the annotations, checked at each call.

    @checked
    def caption(self, images: Any, *, prefix: str = "", look: str | Sequence[str] = ()) -> ...:

A number or truth value of NumPy counts as one of Python, and any collection as a list or tuple.
Messages of the command that name an option, such as --to, name the argument.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from models.core.errors import InputError, ModelError
from models.core.settings import short
from models.text.normalise import is_unicode

OPTIONS = {"from": "source"} | {  # of the command: argument
    name: name
    for name in ("to", "word", "method", "prefix", "look", "glossary", "memory", "address")
}
OPTION = re.compile(rf"--({'|'.join(OPTIONS)})\b(?!-)")
F = TypeVar("F", bound=Callable[..., Any])
NAMES: dict[Any, str] = {
    float: "a number",
    bool: "True or False",
    NoneType: "None",
}  # others: as Python does


def checked(function: F) -> F:
    """Return a function that raises InputError for an argument of another type than annotated."""
    signature = inspect.signature(function)
    annotated = {
        name: one.annotation
        for name, one in signature.parameters.items()
        if one.kind is not one.VAR_KEYWORD and one.annotation is not one.empty
    }

    @cache
    def kinds() -> dict[str, Any]:
        named = SimpleNamespace(__annotations__=annotated)  # results are named for type checkers
        return get_type_hints(named, function.__globals__)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        given = signature.bind(*args, **options).arguments
        check(given, kinds(), hint=f"see help({function.__qualname__})")
        try:
            return function(*args, **options)
        except ModelError as error:
            told = [*map(in_python, (error.found, error.expected, error.hint))]
            if told == [error.found, error.expected, error.hint]:
                raise
            raise type(error)(*told) from None

    return cast(F, call)


def in_python(message: str) -> str:
    """Return a message with options of the command as arguments, outside of command lines."""
    texts = message.split("`")
    texts[::2] = [OPTION.sub(lambda found: f"{OPTIONS[found[1]]}=", text) for text in texts[::2]]
    return "`".join(texts)


def check(
    values: Mapping[str, Any], kinds: Mapping[str, Any], place: str = "", hint: str = ""
) -> None:
    """Raise InputError for a value that is not of its kind. place: before names, for messages."""
    for name, kind in kinds.items():
        if name in values and not fits(values[name], kind):
            raise InputError(f"{place}{name} = {short(values[name])}", words(kind), hint)


def fits(value: Any, kind: Any) -> bool:
    """Return True if a value is of a kind: an annotation. Classes of our own accept any value.

    The items of an iterable are not checked, because some can be read once.
    """
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()  # of NumPy or torch
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if kind is str:
        return isinstance(value, str) and is_unicode(value)
    if origin is Mapping or kind in (bool, Path, NoneType):
        return isinstance(value, origin or kind)
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    if origin is Iterable:  # of texts: as_list tells what they are
        return parts == (str,) or isinstance(value, Iterable)
    if origin not in (Sequence, tuple):
        return True
    if not isinstance(value, Collection) or isinstance(value, (str, bytes, Mapping)):
        return False
    items = parts * len(value) if origin is Sequence else parts
    return len(items) == len(value) and all(map(fits, value, items))


def words(kind: Any) -> str:
    """Return a kind in words, for messages."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        *others, last = map(words, parts)
        return f"{', '.join(others)} or {last}"
    if origin is tuple:
        return f"({', '.join(map(words, parts))})"
    if origin is Mapping:
        return "a dictionary"
    if origin in (Sequence, Iterable):
        return f"a list of {words(parts[0])}"
    return NAMES[kind] if kind in NAMES else str(getattr(kind, "__name__", kind))
