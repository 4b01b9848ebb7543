"""Options shared by several commands.

`with_settings` turns the fields of a configuration class into options, so that names, types,
defaults and documentation are written once, in models/config/tables.py. A command declares one
parameter of a type derived from `Overrides`:

    @with_settings("max_caption", "views")         # every field but these
    def translate(text: Text = None, *, overrides: SearchOverrides) -> None:
        search = overrides.apply(translator.search)

Typer then sees a function with one option per field and no `overrides`:

    def translate(*, text: Text = None,
                  method: Literal["beam", "greedy", "sample"] | None = None,   # --method
                  beam: int | None = None,                                     # --beam, -b
                  ...) -> None

and `attn translate --beam 2` calls the command with `overrides=SearchOverrides({"beam": 2})`.
Options that are not given are None and are left out, so the value saved with the model applies.

A parameter of a dataclass type becomes one option for each field, with the type and the default of
the field. Commands that share several options declare them once in such a class.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from attncli.options.overrides import Overrides, SearchOverrides
from models.base.settings import fields_of, limits_of, types_of
from models.config.tables import NO_UTILITY, ReadMode, SearchConfig

MODEL = "ATTN_MODEL"

Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        envvar=MODEL,
        help="Model: its name (`attn models` lists them) or the folder of a run or bundle; "
        "without it, the model shipped for this command. Given again: an ensemble, which averages "
        "the probabilities of the models; their target vocabularies must be identical.",
    ),
]
Device = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    typer.Option(help="Device; auto selects a GPU if there is one."),
]
Threads = Annotated[int, typer.Option(min=0, help="Processor threads (0: the default of torch).")]
BatchTokens = Annotated[
    int, typer.Option("--max-batch-tokens", min=1, help="Tokens per batch, padding included.")
]
HardDecode = Annotated[
    ReadMode | None,
    typer.Option(
        help="Read mode of hard attention: the most probable slot, a sample or the expectation. "
        "Default: as saved with the model."
    ),
]


To = Annotated[
    str,
    typer.Option(metavar="LANGUAGE", help="Multilingual model: target language, such as de."),
]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="LANGUAGE",
        help="Multilingual model: source language. Only checked; the model recognises it itself.",
    ),
]

PairFiles = Annotated[
    list[Path], typer.Argument(help="Sentence pairs: source and target, or one TSV of both.")
]


SHORT: dict[tuple[type, str], str] = {  # option names of one letter
    (SearchConfig, "beam"): "-b",
    (SearchConfig, "nbest"): "-n",
}


def with_settings(*without: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that replaces parameters of `Overrides` and dataclasses by options.

    without: fields that do not apply to the command; they get no option. The module docstring has
    an example.
    """
    return functools.partial(_with_settings, without=without)


def _with_settings(command: Callable[..., Any], without: tuple[str, ...]) -> Callable[..., Any]:
    declared = inspect.signature(command, eval_str=True).parameters.values()
    overrides = {p.name: p.annotation for p in declared if _is_overrides(p.annotation)}
    groups = {p.name: p.annotation for p in declared if _is_group(p.annotation)}
    parameters = {
        p.name: p for parameter in declared for p in _expanded(parameter) if p.name not in without
    }

    @functools.wraps(command)
    def run(**values: Any) -> Any:  # Typer passes every parameter of the signature set below
        for name, kind in overrides.items():
            options = {f: values.pop(f) for f in fields_of(kind.config_class) if f in values}
            values[name] = kind({f: value for f, value in options.items() if value is not None})
        for name, group in groups.items():
            values[name] = group(**{f.name: values.pop(f.name) for f in dataclasses.fields(group)})
        return command(**values)

    del run.__wrapped__  # Typer must read the signature set below, not the command's
    run.__annotations__ = {name: p.annotation for name, p in parameters.items()}
    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    return run


def check_search(overrides: SearchOverrides) -> None:
    """Raise a usage error for search settings that have no effect or no result."""
    search = overrides.apply(SearchConfig())
    sampling = (search.temperature, search.top_k, search.top_p)
    default = (SearchConfig.temperature, SearchConfig.top_k, SearchConfig.top_p)
    if search.method != "sample" and sampling != default:
        raise typer.BadParameter(
            f"temperature, top-k and top-p need --method sample, not {search.method}",
            param_hint="'--method'",
        )
    if search.mbr != NO_UTILITY and search.method == "greedy":
        raise typer.BadParameter(
            f"{search.mbr} with --method greedy, which has one candidate; use beam or sample",
            param_hint="'--mbr'",
        )
    beam = search.beam if search.mbr == NO_UTILITY else max(search.beam, search.candidates)
    kept = {"beam": beam, "greedy": 1}.get(search.method, search.nbest)
    if search.nbest > kept:
        raise typer.BadParameter(
            f"{search.nbest} outputs, but --method {search.method} keeps {kept}",
            param_hint="'--nbest'",
        )


def _is_overrides(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Overrides)


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind) and not _is_overrides(kind)


def _expanded(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """Yield the options of an overrides or dataclass parameter; any other is unchanged."""
    kind = parameter.annotation
    if _is_overrides(kind):
        yield from (_setting(kind.config_class, name) for name in fields_of(kind.config_class))
    elif _is_group(kind):
        types = get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            yield inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=types[field.name],
            )
    else:
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _setting(config_class: type, name: str) -> inspect.Parameter:
    """Return the option for one field: its name, type, range and doc.

    Its default is None, which means that the value saved with the model applies.
    """
    field, limits = fields_of(config_class)[name], limits_of(config_class, name)
    kind: Any = types_of(config_class)[name]
    if limits.allowed:
        kind = Literal[limits.allowed]
    names = [f"--{name.replace('_', '-')}", *filter(None, [SHORT.get((config_class, name))])]
    doc = field.metadata["doc"]
    option = typer.Option(
        *names, help=f"{doc[:1].upper()}{doc[1:]}.", min=limits.least, max=limits.at_most
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )
