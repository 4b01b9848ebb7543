"""Options shared by several commands; other options of the search are settings (-s)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from attncli.options.settings import GivenSettings, read_settings
from models.base.errors import ConfigurationError
from models.config.tables import NO_UTILITY, SearchConfig

T = TypeVar("T")
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
Beam = Annotated[
    int | None,
    typer.Option("--beam", "-b", help="Beam size: hypotheses kept at each step."),
]
Nbest = Annotated[int | None, typer.Option("--nbest", "-n", help="Outputs per input.")]


def search_settings(
    tables: type[T], assignments: Sequence[str] | None, beam: int | None, nbest: int | None = None
) -> GivenSettings[T]:
    """Return the settings of a command that searches; raise an error for one without result."""
    given = read_settings(tables, assignments, {"search.beam": beam, "search.nbest": nbest})
    found: Any = given.tables
    check_search(found.search)
    return given


def check_search(search: SearchConfig) -> None:
    """Raise an error for search settings that have no effect or no result."""
    sampling = (search.temperature, search.top_k, search.top_p)
    default = (SearchConfig.temperature, SearchConfig.top_k, SearchConfig.top_p)
    if search.method != "sample" and sampling != default:
        raise ConfigurationError(
            f"search.temperature, top_k or top_p with search.method={search.method}",
            "search.method=sample",
        )
    if search.mbr != NO_UTILITY and search.method == "greedy":
        raise ConfigurationError(
            f"search.mbr={search.mbr} with search.method=greedy, which has one candidate",
            "search.method=beam or sample",
        )
    beam = search.beam if search.mbr == NO_UTILITY else max(search.beam, search.candidates)
    kept = {"beam": beam, "greedy": 1}.get(search.method, search.nbest)
    if search.nbest > kept:
        wanted = f"--beam {search.nbest}" if search.method == "beam" else "search.method=beam"
        raise typer.BadParameter(
            f"{search.nbest} outputs, but search.method={search.method} keeps {kept}; "
            f"expected {wanted}",
            param_hint="'--nbest'",
        )
