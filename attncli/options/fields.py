"""A command that is a class: its fields are the options, its docstring is the help page.

    @command
    @dataclass(frozen=True)
    class ClassifyCommand(ClassifyOptions):
        texts: Texts = ()
        def run(self) -> None: ...

A field is an option of the command line if its annotation has one:
``Annotated[str, typer.Option()]`` or, if the command line gives another type,
``Annotated[tuple[str, ...], list[str] | None, typer.Option()]``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.models import ParameterInfo

from attncli.options.settings import SetOption

Kind = TypeVar("Kind", bound=type)


def command(kind: Kind) -> Kind:
    """Give a dataclass the signature of its command: its own options, then those of its bases."""
    return signed(kind, kind.__mro__, kind.__mro__[1])


def signed(kind: Kind, order: Iterable[type], options: type) -> Kind:
    """Give a dataclass the signature of its command.

    order: of the classes that have its fields. options: class of the settings that -s changes.
    """
    settings = Annotated[list[str] | None, SetOption(options, example=kind.EXAMPLE)]
    parameters = [*_parameters(kind, order), parameter("set", None, settings)]
    kind.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return kind


def _parameters(kind: type, order: Iterable[type]) -> Iterator[inspect.Parameter]:
    hints, given = get_type_hints(kind, include_extras=True), inspect.signature(kind).parameters
    for name in dict.fromkeys(name for one in order for name in inspect.get_annotations(one)):
        extras: tuple[Any, ...] = getattr(hints[name], "__metadata__", ())
        is_option = any(isinstance(one, ParameterInfo) for one in extras)
        if not is_option and hints[name] is not typer.Context:
            continue
        default, annotation = given[name].default, hints[name]
        if extras and not isinstance(extras[0], ParameterInfo):
            default, annotation = None, Annotated[extras]
        yield parameter(name, default, annotation)


def parameter(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    """Return a parameter that is given by its name."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def function_of(
    parameters: Iterable[inspect.Parameter], call: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function with parameters that Typer reads. call: receives their values."""

    def function(**values: Any) -> Any:
        return call(**values)

    parameters = [*parameters]
    function.__annotations__ = {one.name: one.annotation for one in parameters}
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function
