"""``attn evaluate``: options for scores of translations; the work is in jobs/evaluate.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.data.streams import open_output
from attncli.jobs.loading import OpenOptions
from attncli.options.evaluation import (
    Json,
    Models,
    Save,
    check_folder,
    check_overrides,
    check_save,
    folders_of,
)
from attncli.options.overrides import SearchOverrides
from attncli.options.shared import BatchTokens, Device, From, HardDecode, Threads, To, with_settings
from attncli.render.plots import Bar, Curve, bleu_by_length, check_picture
from attncli.scoring.translations import BleuTokenizer, Evaluation, LengthRanges, Scoring
from attncli.tasks.translate.evaluation import evaluate_texts
from attncli.tasks.translate.score_writers import WRITERS
from models.config.tables import MAX_BATCH_TOKENS

STEP, QUANTILES = LengthRanges()

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Source and one or more references, or one TSV file; - is standard input. "
        "With --hypotheses alone, all files are references; a table has sources, too.",
    ),
]
Hypotheses = Annotated[
    list[Path] | None,
    typer.Option(help="Outputs of another program, a line for each source. May be repeated."),
]
Source = Annotated[
    Path | None, typer.Option(help="Source, for scores by length of --hypotheses alone.")
]
Tokenize = Annotated[
    BleuTokenizer,
    typer.Option(help="Tokens of BLEU and error rate: sacreBLEU's tokenizer; none: spaces."),
]
Confidence = Annotated[
    bool,
    typer.Option(
        "--confidence", help="95 % confidence intervals, and p-values against the first system."
    ),
]
ByLength = Annotated[bool, typer.Option("--by-length", help="BLEU by source length.")]
Step = Annotated[int, typer.Option("--length-step", min=1, help="Words per range of lengths.")]
Quantiles = Annotated[
    int,
    typer.Option("--length-quantiles", min=0, help="Number of ranges of equal count (0: by step)."),
]
Plot = Annotated[
    Path | None, typer.Option(help="Draw BLEU by source length: a .png, .svg or .pdf file.")
]


@with_settings("max_caption", "split_above", "views")
def evaluate(
    files: Files = None,
    *,
    model: Models = None,
    hypotheses: Hypotheses = None,
    source: Source = None,
    to: To = "",
    source_language: From = "",
    tokenize: Tokenize = "13a",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    confidence: Confidence = False,
    by_length: ByLength = False,
    length_step: Step = STEP,
    length_quantiles: Quantiles = QUANTILES,
    plot: Plot = None,
    save: Save = None,
    json: Json = False,
    overrides: SearchOverrides,
    hard_decode: HardDecode = None,
    max_batch_tokens: BatchTokens = MAX_BATCH_TOKENS,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Score translations against references.

    The model translates the source; its outputs are compared with one or more references. BLEU,
    chrF and TER are computed by sacreBLEU. Exact match is the share of outputs that equal a
    reference, the error rate is edits per reference token, ROUGE-1 and ROUGE-2 are the F1 of common
    words and word pairs, and ROUGE-L is the F1 of the longest common subsequence of words; all in
    percent. Search settings default to those saved with the model. Several models and --hypotheses
    give a row each. Lengths are counted in words between spaces; the ratio is output length over
    reference length. Multilingual models need --to LANGUAGE.

    Example:
      attn evaluate -m runs/a -m runs/b --plot lengths.png test.en test.de
      attn evaluate --hypotheses other.de test.de
      attn evaluate -m runs/demo runs/demo/test.tsv
    """
    folders = folders_of(model, hypotheses)
    lengths = LengthRanges(length_step, length_quantiles) if by_length or plot else None
    check_overrides(overrides)
    if not files:
        raise typer.BadParameter("source and references are missing", param_hint="'FILES...'")
    _check_source(folders, source, lengths)
    check_save(folders, save)
    if plot:
        check_picture(plot)
        check_folder(plot)
    scores = evaluate_texts(
        files,
        models=folders,
        hypotheses=hypotheses or [],
        source=source,
        scoring=Scoring(tokenize, lowercase, confidence),
        lengths=lengths,
        save=save,
        options=OpenOptions(
            device, threads, hard_decode, overrides, to, source_language, len(folders) > 1
        ),
        max_batch_tokens=max_batch_tokens,
    )
    if plot:
        bleu_by_length(plot, *_curves(scores.evaluations))
    write_table = WRITERS["json" if json else "text"]
    with open_output(None) as write:
        write(write_table(scores.evaluations, len(scores.test_set.references)).encode())


def _check_source(folders: list[Path], source: Path | None, lengths: LengthRanges | None) -> None:
    """Refuse a source that is not needed, and lengths without a source."""
    if folders and source:
        raise typer.BadParameter(
            "with a model, the first file is the source", param_hint="'--source'"
        )
    if lengths and not folders and not source:
        raise typer.BadParameter(
            "needs the source: give it with --source", param_hint="'--by-length'"
        )


def _curves(evaluations: list[Evaluation]) -> tuple[list[Curve], list[Bar]]:
    """Return a curve of BLEU for each system, at the middle of each range, and bars of counts."""
    buckets = evaluations[0].buckets
    middles = [(bucket.shortest + bucket.longest) / 2 for bucket in buckets]
    curves = [
        Curve(system.name, middles, [bucket.bleu for bucket in found])
        for system, _, found in evaluations
    ]
    return curves, [Bar(b.shortest - 0.5, b.longest + 0.5, b.sentences) for b in buckets]
