"""``attn evaluate``: scores of translations against references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from json import dumps
from pathlib import Path
from typing import Annotated, get_args

import typer

from attncli.data import corpus
from attncli.data.streams import write_stdout
from attncli.data.tables import row_pairs
from attncli.faithful.checks import check
from attncli.faithful.result import Line
from attncli.options import loading, shared
from attncli.options.evaluation import Evaluation, ModelOutputs, command
from attncli.render.plots import Bar, Curve, bleu_by_length
from attncli.render.rows import columns
from attncli.scoring.score import BleuTokenizer, System
from attncli.scoring.sequences import references_by_output
from attncli.scoring.translations import (
    EvaluationSet,
    Scoring,
    buckets_of,
    evaluate_systems,
    has_short_references,
    metrics,
    open_comet,
)
from attncli.terminal import console
from attncli.terminal.messages import counted
from attncli.translate.engine import TranslateOptions
from attncli.translate.reports import OutputReport
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
    comet: str = option(
        "",
        "also COMET: a model of Unbabel such as Unbabel/wmt22-comet-da, which is downloaded, or a "
        "checkpoint; it is unpickled, so that its author must be trusted",
    )


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
    ordered: bool = True


@command
@dataclass(kw_only=True)
class TranslationEvaluation(Evaluation):
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

    task, unit, options_of = "translate", "sentence", EvaluateOptions
    EXAMPLE = "scores.lowercase=true"

    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Source and one or more references, or one TSV file; - is standard input. "
            "With --hypotheses alone, all files are references; a table has sources, too."
        ),
    ] = None
    to: shared.To = ""
    source: shared.From = ""
    memory: shared.MemoryPairs = ()
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            help="95 % confidence intervals of BLEU, chrF and TER; p-values against the first "
            "system.",
        ),
    ] = False
    checks: Annotated[
        bool,
        typer.Option(
            "--checks",
            help="Check translations against their sources instead: numbers, placeholders, tags, "
            "loops, length. FILES: source and translation. Writes line, check and what was found.",
        ),
    ] = False
    by_length: Annotated[bool, typer.Option("--by-length", help="BLEU by source length.")] = False
    plot: Annotated[
        Path | None, typer.Option(help="Draw BLEU by source length: a .png, .svg or .pdf file.")
    ] = None
    test_set: EvaluationSet = field(init=False)
    scoring: Scoring = field(init=False)

    def run(self) -> None:
        """Score, or write the checks that translations fail."""
        if not self.files:
            raise typer.BadParameter("source and references are missing", param_hint="'FILES...'")
        if self.checks:
            write_stdout(check_texts(self.files, json=self.json))
        else:
            super().run()

    def read(self, folders: Sequence[Path]) -> None:
        """Read sources and references; without a model, find out if there are sources."""
        settings, files = self.options, self.files or []
        lengths = Path(settings.lengths.source) if settings.lengths.source else None
        if folders and lengths:
            raise ConfigurationError("lengths.source with a model, whose first file is the source")
        if self.step and not folders and not lengths:
            raise ConfigurationError("lengths of unknown sources", "-s lengths.source=FILE")
        scores = settings.scores
        self.scoring = Scoring(
            scores.tokenize, scores.lowercase, self.confidence, open_comet(scores.comet)
        )
        metrics(self.scoring)  # report a missing tokenizer before any work
        if not folders and not lengths and len(files) > 1:
            lengths, files = _sides(files, self.hypotheses or [])
        if inputs := loading.row_inputs(folders):
            rows = [*row_pairs(files, inputs, settings.data.target)]
            self.test_set = EvaluationSet([row for row, _ in rows], [[nfc(one) for _, one in rows]])
        elif folders:
            self.test_set = evaluation_set(corpus.read_pairs(files))
        else:
            self.test_set = read_references(files, lengths)
        count, references = len(self.test_set.references[0]), len(self.test_set.references)
        if self.scoring.comet and not self.test_set.sources:
            raise ConfigurationError("scores.comet without sources", "a source for each reference")
        self.counts = {"sentences": count, "references": references}
        self.head = f"{counted(count, 'sentence')}, {counted(references, 'reference')}"
        self.items = [Line(number, text) for number, text in enumerate(self.test_set.sources, 1)]
        if has_short_references(self.test_set, self.scoring):
            console.warn(
                "most references have fewer than 4 tokens, so BLEU (which counts sequences of 4) "
                "means little; compare exact match and error rate"
            )

    @property
    def step(self) -> int:
        """Words of a range of source lengths; 0: these are not scored."""
        step: int = self.options.lengths.step
        return step if self.by_length or self.plot else 0

    def of_model(self, outputs: ModelOutputs) -> System:
        """Report what is suspicious about the outputs of a model.

        A loop that a reference of its line has is not reported.
        """
        if found := getattr(outputs.runner, "summary", ""):
            console.say(f"{outputs.system.name}: {found}")
        report = OutputReport(references_by_output(self.test_set.references))
        list(report.messages(outputs.results))
        notes = [each.note for each in outputs.results if each.note]
        for note in (*notes, *report.totals()):
            self.options.messages.warn(f"{outputs.system.name}: {note}")
        return outputs.system

    def scored(self, systems: list[System]) -> list[System]:
        """Return the systems with their scores; warn of outputs that are tokenised already."""
        for system in systems:
            tokenised = sum(text.endswith(" .") for text in system.hypotheses)
            if self.scoring.tokenize == "13a" and tokenised >= 100:
                advice = "-s scores.tokenize=none scores it as it is"
                console.warn(f"{system.name} looks tokenised already; {advice}")
        return evaluate_systems(systems, self.test_set, self.scoring, self.step)

    def tables(self, systems: Sequence[System]) -> list[str]:
        """Return BLEU and length ratio of each system, a row for each range of source lengths."""
        if not self.step:
            return []
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
        return [columns(rows)]

    def draw(self, path: Path, systems: Sequence[System]) -> None:
        """Draw a curve of BLEU for each system, at the middle of each range, and bars of counts."""
        buckets = buckets_of(systems[0])
        middles = [(bucket.shortest + bucket.longest) / 2 for bucket in buckets]
        curves = [
            Curve(system.name, middles, [bucket.bleu for bucket in buckets_of(system)])
            for system in systems
        ]
        bars = [Bar(b.shortest - 0.5, b.longest + 0.5, b.sentences) for b in buckets]
        bleu_by_length(path, curves, bars)


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
