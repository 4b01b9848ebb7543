"""``attn evaluate --alignments``: parse, align or read, score, write the table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from attncli import console
from attncli.data.links import Index
from attncli.data.streams import open_output
from attncli.jobs import loading
from attncli.jobs.evaluate_alignments import (
    Gold,
    how_read,
    read_gold,
    score_file,
    score_model,
)
from attncli.jobs.loading import OpenOptions
from attncli.render.alignment_scores import (
    Against,
    alignment_scores_as_json,
    alignment_scores_as_text,
)
from attncli.scoring.alignments import AlignmentScores

Alignments = Annotated[
    Path | None,
    typer.Option(
        metavar="GOLD",
        help="Score word alignments instead, against these links; files are source and target.",
    ),
]
GoldIndex = Annotated[
    Index | None,
    typer.Option(help="What the gold counts words from, where the file does not settle it."),
]
HypothesisIndex = Annotated[
    Index | None, typer.Option("--index", help="The same, of the links in --hypotheses.")
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out links to words that are not there.")
]
ReverseModel = Annotated[
    Path | None,
    typer.Option(help="A model from target to source, whose links are symmetrised with the other."),
]


class Reading(NamedTuple):
    """How files of links are read."""

    gold_index: Index | None = None
    hypothesis_index: Index | None = None
    skip_bad: bool = False


class Wanted(NamedTuple):
    """What is to be scored."""

    gold: Path
    texts: list[Path]
    models: list[Path]  # folders
    names: list[str]  # of them
    reverse: Path | None
    hypotheses: list[Path]
    reading: Reading


def evaluate_alignments(wanted: Wanted, *, options: OpenOptions, json: bool) -> None:
    """Score the links of models and files against gold."""
    _check(wanted)
    gold_index, index, skip_bad = wanted.reading
    gold = read_gold(wanted.gold, wanted.texts, index=gold_index, skip_bad=skip_bad)
    files = [score_file(path, gold, index=index, skip_bad=skip_bad) for path in wanted.hypotheses]
    rows = [*_of_models(wanted, gold, options), *files]
    render = alignment_scores_as_json if json else alignment_scores_as_text
    with open_output(None) as write:
        write(render(rows, _against(gold)).encode())


def _check(wanted: Wanted) -> None:
    if wanted.models and not wanted.texts:
        raise typer.BadParameter(
            "a model needs the texts that the gold links: source and target",
            param_hint="'FILES...'",
        )
    if wanted.reverse and not wanted.models:
        raise typer.BadParameter("needs --model", param_hint="'--reverse-model'")


def _of_models(wanted: Wanted, gold: Gold, options: OpenOptions) -> list[AlignmentScores]:
    """The scores of each model; loading one imports torch, so all cheaper mistakes come first."""
    if not wanted.models:
        return []
    reverse = loading.open_reverse(wanted.reverse, options) if wanted.reverse else None
    rows = []
    for name, folder in zip(wanted.names, wanted.models, strict=True):
        translator = loading.open_translator(folder, options)
        scored = score_model(name, translator, gold, reverse=reverse)
        for note in scored.notes:
            console.warn(f"{name}: {note}; no links")
        rows.append(scored.scores)
    return rows


def _against(gold: Gold) -> Against:
    rows = gold.links.rows
    return Against(
        name=gold.name,
        note=how_read(gold.links),
        pairs=len(rows),
        sure=sum(len(row.sure) for row in rows),
        possible=sum(len(row.possible - row.sure) for row in rows),
    )
