"""Options and tables of settings shared by several commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import typer

from attncli.options.settings import GivenSettings, read_settings
from models.base.errors import ConfigurationError
from models.base.settings import option
from models.config import BATCH_IMAGES, MAX_BATCH_TOKENS, ReadMode, SearchConfig

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
OneModel = Annotated[
    Path | None,
    typer.Option(
        "--model",
        "-m",
        envvar=MODEL,
        help="Model: its name (`attn models` lists them) or the folder of a run or bundle; "
        "without it, the model shipped for this command.",
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
    if search.nbest > 1 and search.method == "greedy":
        raise typer.BadParameter(
            f"{search.nbest} outputs of greedy search, which has 1; expected search.method=beam",
            param_hint="'--nbest'",
        )


@dataclass(frozen=True)
class HardAttention:
    """Use of a model with hard attention."""

    read_decode: str = option(
        "",
        "hard attention: read mode, argmax, sample or expected (empty: as saved with the model)",
        choices=("", *get_args(ReadMode)),
    )


@dataclass(frozen=True)
class TextBatches:
    """Computation over batches of texts."""

    batch_tokens: int = option(MAX_BATCH_TOKENS, "tokens of a batch, padding included", least=1)


@dataclass(frozen=True)
class ImageBatches:
    """Computation over batches of images."""

    batch_images: int = option(BATCH_IMAGES, "images of a batch", least=1)


@dataclass(frozen=True)
class PictureSettings:
    """Pictures of a command that reads lines."""

    lines: str = option("", "lines to draw, such as 1-20,35 (empty: the first)")


@dataclass(frozen=True)
class ReadSettings:
    """Settings of commands that only open a model."""

    attention: HardAttention = option(HardAttention, "attention")
