"""Options shared by several commands; those of the search are in search.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

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
