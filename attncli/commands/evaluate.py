"""``attn evaluate``: options for scores of translations; the work is in attncli/translate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import typer

from attncli.data.streams import check_output, write_stdout
from attncli.options import shared
from attncli.options.settings import SetOption
from attncli.render.plots import Bar, Curve, bleu_by_length, check_picture
from attncli.scoring.score import System
from attncli.scoring.score import BleuTokenizer
from attncli.scoring.translations import Scoring, buckets_of
from attncli.terminal import console
from attncli.translate.engine import TranslateOptions
from attncli.translate.evaluation import check_texts, evaluate_texts, translation_scores
from models.core.errors import ConfigurationError
from models.core.settings import option


@dataclass(frozen=True)
class ScoreSettings:
    """Computation of the scores."""

    tokenize: str = option(
        "13a",
        "tokens of BLEU and error rate: a tokenizer of sacreBLEU; none: words between spaces",
        choices=get_args(BleuTokenizer),
    )
    lowercase: bool = option(False, "ignore case")


@dataclass(frozen=True)
class LengthSettings:
    """Ranges of source lengths of --by-length and --plot."""

    step: int = option(5, "words of a range", least=1)
    source: str = option("", "file of the source, if there are --hypotheses alone")


@dataclass(frozen=True)
class RowSettings:
    """Table of rows that models of several inputs translate."""

    target: str = option("target", "models of several inputs: column of the references")


@dataclass(frozen=True)
class EvaluateOptions(TranslateOptions):
    """Options of `attn evaluate`."""

    TABLES = "search scores lengths data attention compute"
    UNUSED = "search.max_caption search.split_above search.nbest compute.backend"

    scores: ScoreSettings = option(ScoreSettings, "scores")
    lengths: LengthSettings = option(LengthSettings, "--by-length and --plot")
    data: RowSettings = option(RowSettings, "rows of several inputs")


Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Source and one or more references, or one TSV file; - is standard input. "
        "With --hypotheses alone, all files are references; a table has sources, too."
    ),
]
Hypotheses = Annotated[
    list[Path] | None,
    typer.Option(help="Outputs of another program, a line for each source. May be repeated."),
]
Confidence = Annotated[
    bool,
    typer.Option(
        "--confidence",
        help="95 % confidence intervals of BLEU, chrF and TER; p-values against the first system.",
    ),
]
Checks = Annotated[
    bool,
    typer.Option(
        "--checks",
        help="Check translations against their sources instead: numbers, placeholders, tags, "
        "loops, length. FILES: source and translation. Writes line, check and what was found.",
    ),
]
ByLength = Annotated[bool, typer.Option("--by-length", help="BLEU by source length.")]
Plot = Annotated[
    Path | None, typer.Option(help="Draw BLEU by source length: a .png, .svg or .pdf file.")
]
Set = Annotated[list[str] | None, SetOption(EvaluateOptions, example="scores.lowercase=true")]


def evaluate(
    files: Files = None,
    *,
    model: shared.ScoredModels = None,
    hypotheses: Hypotheses = None,
    to: shared.To = "",
    source: shared.From = "",
    confidence: Confidence = False,
    checks: Checks = False,
    by_length: ByLength = False,
    plot: Plot = None,
    save: shared.Save = None,
    json: shared.Json = False,
    device: shared.Device = "auto",
    threads: shared.Threads = 0,
    set: Set = None,
) -> None:
    """Score translations against references.

    The model translates the source; its outputs are compared with one or more references by BLEU,
    chrF, TER, exact match, error rate and ROUGE, in percent. Several models and --hypotheses give a
    row each. Search settings default to those saved with the model. See docs/evaluate.md.

    Example:
      attn evaluate -m runs/a -m runs/b --plot lengths.png test.en test.de
      attn evaluate --hypotheses other.de test.de
      attn evaluate --checks test.en other.de
      attn evaluate -m runs/demo runs/demo/test.tsv
    """
    folders = shared.folders_of(model, hypotheses)
    mixed = len(folders) > 1
    options = EvaluateOptions.of_command(locals(), mixed=mixed, messages=console)
    lengths = Path(options.lengths.source) if options.lengths.source else None
    step = options.lengths.step if by_length or plot else 0
    if not files:
        raise typer.BadParameter("source and references are missing", param_hint="'FILES...'")
    if checks:
        write_stdout(check_texts(files, json=json, messages=console))
        return
    if folders and lengths:
        raise ConfigurationError("lengths.source with a model, whose first file is the source")
    if step and not folders and not lengths:
        raise ConfigurationError("lengths of unknown sources", "-s lengths.source=FILE")
    shared.check_save(folders, save)
    if plot:
        check_picture(plot)
        check_output(plot)
    evaluations, test_set = evaluate_texts(
        files,
        models=folders,
        hypotheses=hypotheses or [],
        source=lengths,
        scoring=Scoring(options.scores.tokenize, options.scores.lowercase, confidence),
        step=step,
        save=save,
        options=options,
        target=options.data.target,
    )
    write_stdout(translation_scores(evaluations, len(test_set.references), json=json))
    if plot:
        bleu_by_length(plot, *_curves(evaluations))


def _curves(systems: list[System]) -> tuple[list[Curve], list[Bar]]:
    """Return a curve of BLEU for each system, at the middle of each range, and bars of counts."""
    buckets = buckets_of(systems[0])
    middles = [(bucket.shortest + bucket.longest) / 2 for bucket in buckets]
    curves = [
        Curve(system.name, middles, [bucket.bleu for bucket in buckets_of(system)])
        for system in systems
    ]
    return curves, [Bar(b.shortest - 0.5, b.longest + 0.5, b.sentences) for b in buckets]
