"""``attn evaluate alignments``: scores of word alignments; the work is in evaluation.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from attncli.data.alignments.links import Index
from attncli.data.streams import write_stdout
from attncli.jobs.loading import OpenOptions
from attncli.options.evaluation import Json, Models, folders_of
from attncli.options.settings import SetOption, read_settings
from attncli.options.shared import Device, From, ReadSettings, Threads, To
from attncli.render.columns import columns
from attncli.render.json import as_json
from attncli.scoring.alignments import AlignmentScores, GoldSummary
from attncli.tasks.align.evaluation import evaluate_alignments
from attncli.terminal import console
from attncli.terminal.plurals import counted

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Texts of the gold links, which models align: source and target, or one TSV."
    ),
]
Gold = Annotated[
    Path, typer.Option(help="Gold links between words: Pharaoh or NAACL, sure and possible.")
]
GoldIndex = Annotated[
    Index | None,
    typer.Option(help="Index of the first word in --gold, if the file does not show it."),
]
Hypotheses = Annotated[
    list[Path] | None, typer.Option(help="Links of another program. May be repeated.")
]
Set = Annotated[list[str] | None, SetOption(ReadSettings, example="attention.read_decode=expected")]


def alignments(
    files: Files = None,
    *,
    gold: Gold,
    model: Models = None,
    hypotheses: Hypotheses = None,
    to: To = "",
    source_language: From = "",
    gold_index: GoldIndex = None,
    json: Json = False,
    device: Device = "auto",
    threads: Threads = 0,
    set: Set = None,
) -> None:
    """Score word alignments against gold links.

    The scores are alignment error rate (AER), precision, recall and F. The links of a model come
    from its attention weights under teacher forcing, with the settings saved in it. Files of links
    are Pharaoh's `0-0 1-2` (possible links 1p2 or 1?2) or NAACL's `sentence source target S`.

    Example:
      attn evaluate alignments --gold gold.talp --hypotheses fast_align.links test.en test.de
      attn evaluate alignments --gold gold.talp -m runs/en-de test.en test.de
    """
    tables = read_settings(ReadSettings, set).tables
    folders = folders_of(model, hypotheses)
    if folders and not files:
        raise typer.BadParameter(
            "a model needs the texts that the gold links: source and target",
            param_hint="'FILES...'",
        )
    scores, reference = evaluate_alignments(
        gold,
        files or [],
        models=folders,
        hypotheses=hypotheses or [],
        gold_index=gold_index,
        options=OpenOptions(
            device,
            threads,
            tables.attention.read_decode,
            to=to,
            source=source_language,
            mixed=len(folders) > 1,
            messages=console,
        ),
    )
    write_table = alignment_scores_as_json if json else alignment_scores_as_text
    write_stdout(write_table(scores, reference))


def alignment_scores_as_text(rows: Sequence[AlignmentScores], gold: GoldSummary) -> str:
    """Return the size of the gold, a row of percentages for each alignment, and how it was read."""
    table = [["", "AER", "precision", "recall", "F", "links"]]
    for row in rows:
        shares = (row.error_rate, row.precision, row.recall, row.f)
        table.append([row.name, *(f"{100 * share:.2f}" for share in shares), f"{row.links:,}"])
    read = [("gold", gold.note), *((row.name, row.note) for row in rows)]
    counts = f"{gold.sure:,} sure and {counted(gold.possible, 'possible link')}"
    head = f"{counted(gold.pairs, 'sentence pair')}, {counts} in {gold.name}\n"
    return f"{head}\n{columns(table)}\n{columns(read, left=2)}"


def alignment_scores_as_json(rows: Sequence[AlignmentScores], gold: GoldSummary) -> str:
    """Return an object with one entry for each alignment; scores from 0 to 1."""
    record = {"gold": gold._asdict(), "alignments": [row._asdict() for row in rows]}
    return as_json(record)
