"""Options that several commands share.

A setting of a configuration class becomes an option of the same name: its default and its help
come from the class, where they are written once. A command says ``@with_settings()`` and takes
``search: SearchConfig`` (or another configuration); its help then lists the fields of it.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeVar

import typer

from attncli import console
from models.config import AlignConfig, SearchConfig, fields_of, merged, types_of

MODEL = "ATTN_MODEL"

Model = Annotated[
    Path, typer.Option("--model", "-m", envvar=MODEL, help="Model: the folder of a run or bundle.")
]
Device = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    typer.Option(help="Where to compute; auto takes a GPU where there is one."),
]
Threads = Annotated[
    int, typer.Option(min=0, help="Processor threads (0: what the machine suggests).")
]
BatchTokens = Annotated[
    int, typer.Option("--max-batch-tokens", min=1, help="Pieces computed at a time, padding too.")
]
HardDecode = Annotated[
    Literal["argmax", "sample", "expected"] | None,
    typer.Option(
        help="What a model with hard attention reads: the likeliest slot, a sample or the "
        "expectation; without it, what the model's settings say."
    ),
]


class Flag(NamedTuple):
    """What the command line adds to a setting: a short name, limits, choices."""

    short: str = ""
    least: float | None = None
    most: float | None = None
    choices: Any = None


FLAGS: dict[tuple[type, str], Flag] = {
    (SearchConfig, "method"): Flag(choices=Literal["beam", "greedy", "sample"]),
    (SearchConfig, "beam"): Flag("-b", least=1),
    (SearchConfig, "nbest"): Flag("-n", least=1),
    (SearchConfig, "length_penalty"): Flag(least=0),
    (SearchConfig, "temperature"): Flag(least=0),
    (SearchConfig, "top_k"): Flag(least=0),
    (SearchConfig, "top_p"): Flag(least=0, most=1),
    (SearchConfig, "max_ratio"): Flag(least=0),
    (SearchConfig, "max_extra"): Flag(least=0),
    (SearchConfig, "max_caption"): Flag(least=1),
    (AlignConfig, "units"): Flag(choices=Literal["word", "piece", "char"]),
    (AlignConfig, "layer"): Flag(least=0),
    (AlignConfig, "head"): Flag(least=0),
    (AlignConfig, "shift"): Flag(least=0, most=1),
    (AlignConfig, "extract"): Flag(choices=Literal["argmax", "threshold", "mutual", "transport"]),
    (AlignConfig, "threshold"): Flag(least=0),
    (AlignConfig, "null_threshold"): Flag(least=0, most=1),
    (AlignConfig, "symmetrise"): Flag(
        choices=Literal[
            "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"
        ]
    ),
    (AlignConfig, "flavour"): Flag(choices=Literal["moses", "fast_align", "both-free"]),
}


class Changes(dict[str, Any]):
    """Settings that the user gave, by name, over those that a model has of its own."""

    of: type  # the configuration class


class AlignChanges(Changes):
    """How attention is to be read as an alignment, where the model is not asked."""

    of = AlignConfig


class SearchChanges(Changes):
    """How outputs are to be searched for, where the model is not asked."""

    of = SearchConfig


def with_settings(*without: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A command whose configuration parameters are options, one for each of their fields.

    without: fields that mean nothing to the command, and keep their defaults.
    """
    return functools.partial(_with_settings, without=without)


def _with_settings(command: Callable[..., Any], without: tuple[str, ...]) -> Callable[..., Any]:
    own = inspect.signature(command, eval_str=True).parameters.values()
    configs = {p.name: p.annotation for p in own if _is_config(p.annotation)}
    parameters = {
        p.name: p for parameter in own for p in _expanded(parameter) if p.name not in without
    }

    @functools.wraps(command)
    def run(**values: Any) -> Any:  # the names are those of the signature below
        for name, kind in configs.items():
            settings = {f: values.pop(f) for f in fields_of(_class(kind)) if f in values}
            if issubclass(kind, Changes):
                settings = {field: value for field, value in settings.items() if value is not None}
            values[name] = kind(**settings)
        return command(**values)

    del run.__wrapped__  # typer must read the signature of the options, not the command's
    run.__annotations__ = {name: p.annotation for name, p in parameters.items()}
    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    return run


class Reads(Protocol):
    """A model in use: ``models.load`` gives one."""

    search: SearchConfig  # its own

    @property
    def read_mode(self) -> str:
        """soft, or "hard argmax", "hard sample", "hard expected"; empty without attention."""

    def with_read_mode(self, decode: str, *, seed: int) -> Any:
        """The same model with its hard attention read in another way."""


R = TypeVar("R", bound=Reads)


def read_as(model: R, decode: str | None, *, seed: int) -> R:
    """The model, reading as ``--hard-decode`` says, or else as its own settings do.

    A hard read is said on stderr; a choice for a model that is not hard is a ModelError.
    """
    kind, _, own = model.read_mode.partition(" ")
    if decode or kind == "hard":
        model = model.with_read_mode(decode or own, seed=seed)
        console.say(f"hard attention, read by {model.read_mode.partition(' ')[2]}")
    return model


def as_asked(model: R, changes: SearchChanges, decode: str | None) -> tuple[R, SearchConfig]:
    """The model, reading as asked, and how it is to search: as its own settings say, but for these.

    A hard read is said on stderr, as by `read_as`.
    """
    search = merged(model.search, changes)
    return read_as(model, decode, seed=search.seed), search


def check_search(changes: SearchChanges) -> None:
    """Refuse settings of the search that would have no effect or no result: a usage error."""
    search = merged(SearchConfig(), changes)
    sampling = (search.temperature, search.top_k, search.top_p)
    default = (SearchConfig.temperature, SearchConfig.top_k, SearchConfig.top_p)
    if search.method != "sample" and sampling != default:
        raise typer.BadParameter(
            f"temperature, top-k and top-p need --method sample, not {search.method}",
            param_hint="'--method'",
        )
    kept = {"beam": search.beam, "greedy": 1}.get(search.method, search.nbest)
    if search.nbest > kept:
        raise typer.BadParameter(
            f"{search.nbest} outputs of the {kept} that --method {search.method} keeps",
            param_hint="'--nbest'",
        )


def _is_config(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, Changes))


def _class(kind: Any) -> type:
    """The configuration class of a parameter."""
    return kind.of if issubclass(kind, Changes) else kind


def _expanded(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    kind = parameter.annotation
    if _is_config(kind):
        optional = issubclass(kind, Changes)
        known = _class(kind)
        yield from (_setting(known, name, optional=optional) for name in fields_of(known))
    else:
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _setting(config_class: type, name: str, *, optional: bool) -> inspect.Parameter:
    """The option for one field: its name, type, default and doc, and what ``FLAGS`` adds.

    optional: without it there is no value, as a model has one of its own.
    """
    field, flag = fields_of(config_class)[name], FLAGS.get((config_class, name), Flag())
    kind = flag.choices or types_of(config_class)[name]
    names = [f"--{name.replace('_', '-')}", *filter(None, [flag.short])]
    doc = field.metadata["doc"]
    option = typer.Option(
        *names, help=f"{doc[:1].upper()}{doc[1:]}.", min=flag.least, max=flag.most
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None if optional else field.default,
        annotation=Annotated[kind | None if optional else kind, option],
    )
