"""``attn evaluate alignments``: options for scores of word alignments; the work is in jobs/."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.data.alignments.links import Index
from attncli.data.streams import open_output
from attncli.jobs.loading import OpenOptions
from attncli.options.evaluation import Json, Models, folders_of
from attncli.options.shared import Device, From, HardDecode, Threads, To
from attncli.tasks.align.evaluation import evaluate_alignments
from attncli.tasks.align.score_writers import WRITERS

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
HypothesisIndex = Annotated[
    Index | None,
    typer.Option(
        "--index", help="Index of the first word in --hypotheses, if the file does not show it."
    ),
]
Hypotheses = Annotated[
    list[Path] | None, typer.Option(help="Links of another program. May be repeated.")
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out links to words that do not exist.")
]
ReverseModel = Annotated[
    Path | None,
    typer.Option(help="Model from target to source; the links of both are symmetrised."),
]


def alignments(
    files: Files = None,
    *,
    gold: Gold,
    model: Models = None,
    reverse_model: ReverseModel = None,
    hypotheses: Hypotheses = None,
    to: To = "",
    source_language: From = "",
    gold_index: GoldIndex = None,
    index: HypothesisIndex = None,
    skip_bad: SkipBad = False,
    json: Json = False,
    hard_decode: HardDecode = None,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Score word alignments against gold links.

    The scores are alignment error rate (AER), precision, recall and F. The links of a model come
    from its attention weights under teacher forcing, with the settings saved in it (`attn align
    tune`). Files of links are Pharaoh's `0-0 1-2` (possible links 1p2 or 1?2) or NAACL's `sentence
    source target S`.

    Example:
      attn evaluate alignments --gold gold.talp --hypotheses fast_align.links test.en test.de
      attn evaluate alignments --gold gold.talp -m runs/en-de test.en test.de
    """
    folders = folders_of(model, hypotheses)
    if folders and not files:
        raise typer.BadParameter(
            "a model needs the texts that the gold links: source and target",
            param_hint="'FILES...'",
        )
    if reverse_model and not folders:
        raise typer.BadParameter("needs --model", param_hint="'--reverse-model'")
    scores, reference = evaluate_alignments(
        gold,
        files or [],
        models=folders,
        reverse=reverse_model,
        hypotheses=hypotheses or [],
        gold_index=gold_index,
        index=index,
        skip_bad=skip_bad,
        options=OpenOptions(
            device,
            threads,
            hard_decode,
            to=to,
            source=source_language,
            mixed=len(folders) > 1,
        ),
    )
    with open_output(None) as write:
        write(WRITERS["json" if json else "text"](scores, reference).encode())
