"""Sentence pairs of one or more corpora: the arguments of a command, and its option --also."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.data.streams import check_files

Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        metavar="FILE[,FILE]",
        help="Further sentence pairs: source and target, or one TSV. May be repeated.",
    ),
]


def pair_corpora(files: list[Path], also: list[str] | None) -> list[list[Path]]:
    """Return the files of each corpus, of the arguments and of --also.

    Raises BadParameter for more than two files of one, and ModelError for one that cannot be read.
    """
    corpora = [files, *([Path(name) for name in text.split(",")] for text in also or [])]
    if any(len(corpus) > 2 for corpus in corpora):
        raise typer.BadParameter("source and target, or one TSV", param_hint="'FILES'")
    check_files([path for corpus in corpora for path in corpus])
    return corpora
