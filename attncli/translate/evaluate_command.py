"""``attn evaluate``: scores of translations against references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Annotated, get_args

import typer

from attncli.data import corpus
from attncli.data.streams import check_output, write_stdout
from attncli.data.tables import row_pairs
from attncli.faithful.checks import check
from attncli.faithful.result import Line
from attncli.jobs import loading
from attncli.jobs.evaluate import evaluated
from attncli.options import shared
from attncli.options.settings import SetOption
from attncli.render.plots import Bar, Curve, bleu_by_length, check_picture
from attncli.render.rows import columns, scores_as_json, scores_as_text
from attncli.scoring.score import BleuTokenizer, System
from attncli.scoring.sequences import references_by_output
from attncli.scoring.translations import (
    EvaluationSet,
    Scoring,
    buckets_of,
    evaluate_systems,
    has_short_references,
    metrics,
)
from attncli.terminal import console
from attncli.terminal.messages import counted
from attncli.translate.engine import TranslateOptions
from attncli.translate.writers import OutputReport
from models.core.errors import ConfigurationError
from models.core.settings import option
from models.text.normalise import nfc


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
    options = EvaluateOptions.of_command(locals(), mixed=mixed, ordered=True, messages=console)
    lengths = Path(options.lengths.source) if options.lengths.source else None
    step = options.lengths.step if by_length or plot else 0
    if not files:
        raise typer.BadParameter("source and references are missing", param_hint="'FILES...'")
    if checks:
        write_stdout(check_texts(files, json=json))
        return
    if folders and lengths:
        raise ConfigurationError("lengths.source with a model, whose first file is the source")
    if step and not folders and not lengths:
        raise ConfigurationError("lengths of unknown sources", "-s lengths.source=FILE")
    shared.check_save(folders, save)
    if plot:
        check_picture(plot)
        check_output(plot)
    scoring = Scoring(options.scores.tokenize, options.scores.lowercase, confidence)
    metrics(scoring)  # report a missing tokenizer before any work
    if not folders and not lengths and len(files) > 1:
        lengths, files = _sides(files, hypotheses or [])
    test_set = _test_set(files, folders, lengths, options.data.target)
    count = len(test_set.references[0])
    others = [System(path.name, shared.read_outputs(path, count)) for path in hypotheses or ()]
    if has_short_references(test_set, scoring):
        console.warn(
            "most references have fewer than 4 tokens, so BLEU (which counts sequences of 4) "
            "means little; compare exact match and error rate"
        )
    systems = [*_translated(folders, test_set, options, save), *others]
    _warn_of_tokens(systems, scoring)
    systems = evaluate_systems(systems, test_set, scoring, step)
    write_stdout(translation_scores(systems, len(test_set.references), json=json))
    if plot:
        bleu_by_length(plot, *_curves(systems))


def _curves(systems: list[System]) -> tuple[list[Curve], list[Bar]]:
    """Return a curve of BLEU for each system, at the middle of each range, and bars of counts."""
    buckets = buckets_of(systems[0])
    middles = [(bucket.shortest + bucket.longest) / 2 for bucket in buckets]
    curves = [
        Curve(system.name, middles, [bucket.bleu for bucket in buckets_of(system)])
        for system in systems
    ]
    return curves, [Bar(b.shortest - 0.5, b.longest + 0.5, b.sentences) for b in buckets]


def check_texts(files: Sequence[Path], *, json: bool) -> str:
    """Return the checks that translations fail: a line for each, as TSV or JSON.

    files: source and translation, or a TSV file of both. The number of failures is a message.
    """
    pairs = [(pair.source, pair.references[0]) for pair in corpus.read_pairs(files)]
    found = [(n, one) for n, pair in enumerate(pairs, 1) for one in check(*pair)]
    failed = len({number for number, _ in found})
    console.say(f"{failed:,} of {counted(len(pairs), 'translation')} fail a check")
    if json:
        records = ({"line": number, **one._asdict()} for number, one in found)
        rows = (dumps(record, ensure_ascii=False) for record in records)
    else:
        rows = ("\t".join((str(number), *one)) for number, one in found)
    return "".join(f"{row}\n" for row in rows)


def _sides(files: list[Path], hypotheses: Sequence[Path]) -> tuple[Path | None, list[Path]]:
    """Return the source, if the first file is one, and the references; say what was decided."""
    if corpus.is_source(files[0], files[1:], hypotheses):
        console.say(
            f"{files[0]} is the source, not a reference: its words are not those of the outputs"
        )
        return files[0], files[1:]
    console.say(f"all {len(files)} files are references, because no model translates a source")
    return None, files


def _warn_of_tokens(systems: Sequence[System], scoring: Scoring) -> None:
    """Warn of outputs that are tokenised already, if the scores tokenise them again."""
    for system in systems:
        tokenised = sum(text.endswith(" .") for text in system.hypotheses)
        if scoring.tokenize == "13a" and tokenised >= 100:
            console.warn(
                f"{system.name} looks tokenised already; -s scores.tokenize=none scores it as it is"
            )


def _test_set(
    files: Sequence[Path], models: Sequence[Path], source: Path | None, target: str
) -> EvaluationSet:
    """Read the files in the form that the models need, or as references without models."""
    if inputs := loading.row_inputs(models):
        rows = list(row_pairs(files, inputs, target))
        return EvaluationSet([row for row, _ in rows], [[nfc(text) for _, text in rows]])
    return evaluation_set(corpus.read_pairs(files)) if models else read_references(files, source)


def evaluation_set(pairs: Iterable[corpus.CorpusPair]) -> EvaluationSet:
    """Return sources with their references."""
    pairs = list(pairs)
    return EvaluationSet([pair.source for pair in pairs], corpus.reference_columns(pairs))


def read_references(files: Sequence[Path], source: Path | None = None) -> EvaluationSet:
    """Read references, and the source if its file is given.

    files: a file for each reference, or one table of sources and references: a file whose first
    line has several columns.
    """
    rows = list(corpus.aligned([*filter(None, [source]), *files]))
    if len(rows[0]) == 1 and corpus.separator_of(rows[0][0]) in rows[0][0]:
        table = corpus.table_rows(files[0], (line for [line] in rows))
        return evaluation_set(corpus.CorpusPair(text, tuple(others)) for text, *others in table)
    columns = [list(column) for column in zip(*rows, strict=True)]
    return EvaluationSet(columns[0], columns[1:]) if source else EvaluationSet([], columns)


def _translated(
    folders: Sequence[Path], test_set: EvaluationSet, options: EvaluateOptions, save: Path | None
) -> Iterator[System]:
    """Translate with each model, and report what is suspicious about its outputs.

    A loop that a reference of its line has is not reported.
    """
    sources, references = test_set.sources, references_by_output(test_set.references)
    lines = [Line(number, text) for number, text in enumerate(sources, 1)]
    for system, _, results in evaluated("translate", folders, lines, options, save=save):
        report = OutputReport(references)
        list(report.messages(results))
        for note in (*(each.note for each in results if each.note), *report.totals()):
            options.messages.warn(f"{system.name}: {note}")
        yield system


def translation_scores(systems: Sequence[System], references: int, *, json: bool = False) -> str:
    """Return the scores, and those by source length, as tables or JSON."""
    count = len(systems[0].hypotheses)
    if json:
        return scores_as_json({"sentences": count, "references": references}, systems, "sentences")
    head = f"{counted(count, 'sentence')}, {counted(references, 'reference')}"
    tables = [_length_table(systems)] if buckets_of(systems[0]) else []
    return scores_as_text(head, systems, "sentences", tables)


def _length_table(systems: Sequence[System]) -> str:
    """Return a row for each range of source lengths: BLEU and length ratio of each system."""
    rows = [["words", "sentences"]]
    for system in systems:
        name = f"{system.name} " if len(systems) > 1 else ""
        rows[0] += [f"{name}BLEU", f"{name}ratio"]
    for row in zip(*map(buckets_of, systems), strict=True):
        ends = dict.fromkeys((row[0].shortest, row[0].longest))
        cells = ["–".join(map(str, ends)), f"{row[0].sentences:,}"]
        for bucket in row:
            cells += [f"{bucket.bleu:.2f}", f"{bucket.ratio:.3f}"]
        rows.append(cells)
    return columns(rows)
