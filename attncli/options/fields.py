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
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand
from typer.models import ParameterInfo

from attncli.options.settings import SetOption

Kind = TypeVar("Kind", bound=type)
MAX_WITHOUT_SECTIONS = 12  # options that are listed without sections
OTHER = "Other options"
SECTIONS = {  # section: names of options
    "Data": "dev corpus tagged-corpus dev-corpus images captions labels audio transcripts train "
    "test gold gold-index hypotheses split",
    "Model": "model reverse-model to from preset start-from",
    "Input and output": "input output format scores sidecar save json column field recursive "
    "verbatim keep-tags glossary lexicon memory address back review channels",
    "Search": "beam nbest",
    "Attention": "align show picture attention",
    "Scores": "confidence by-length plot",
    "Variants": "grid seeds best",
    "Computation": "precision processes device threads",
}
SECTION_OF = {f"--{name}": title for title, names in SECTIONS.items() for name in names.split()}
VALUES = {"int": "N", "float": "X", "path": "PATH", "Path": "PATH", "str": "TEXT"}
ONCE = ("--input", "--output", "--model")
COMMON = ("--quiet", "--help")  # options of every command: one line for both


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


class HelpPage(TyperCommand):
    """A command whose help page is easy to read in 80 columns.

    A repeated --input, --output or --model is refused if the command uses the last one alone.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command line."""
        *_, given = self.make_parser(ctx).parse_args(args=list(args))  # in order, with repetitions
        for param in given:
            if param.opts[0] in ONCE and not param.multiple and given.count(param) > 1:
                found = f"{param.opts[0]} is given {given.count(param)} times, and takes one"
                ctx.fail(found)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line; a name with dots of its own gets no more of them."""
        pieces = super().collect_usage_pieces(ctx)
        return [re.sub(r"(\.\.\.(?: \w+)?\]?)\.\.\.$", r"\1", piece) for piece in pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by section."""
        params = self.get_params(ctx)
        arguments = [param for param in params if param.param_type_name == "argument"]
        options = [param for param in params if param.param_type_name != "argument"]
        sections = {"Arguments": arguments} | {title: [] for title in ("Options", *SECTIONS, OTHER)}
        for option in options:
            section = next(filter(None, map(SECTION_OF.get, option.opts)), OTHER)
            sections[section if len(options) > MAX_WITHOUT_SECTIONS else "Options"].append(option)
        for title, found in sections.items():
            own = [param for param in found if not {*COMMON} & {*param.opts}]
            rows = [row(one, *said) for one in own if (said := one.get_help_record(ctx))]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
        with formatter.indentation():
            formatter.write_paragraph()
            formatter.write_text("Every command has -q, --quiet (problems only) and -h, --help.")


def row(param: Any, names: str, text: str) -> tuple[str, str]:
    """Return the names of a parameter with the name of its value, and its help."""
    is_argument = param.param_type_name == "argument"
    found = re.fullmatch(r"(.*) <(?:list\[)?(.+?)(?: range)?\]?>", names)
    if is_argument:
        names = found[1] if found else names
        # as Typer writes a name that it takes from the field, here where a table has that name
        names += "..." if param.nargs != 1 and re.fullmatch("[a-z]+", names) else ""
    elif found:
        names = f"{found[1]} {VALUES.get(found[2], found[2])}"
    text = re.sub(r"\bx>=([\d.]+)", r"at least \1", text)
    text = re.sub(rf"([\d.]+)<=x<={2**63 - 1}", r"at least \1", text)
    text = re.sub(r"([\d.]+)<=x<=([\d.]+)", r"\1 to \2", text)
    return names, text
