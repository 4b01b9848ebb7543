"""Classification of lines, and its results as text, TSV and JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from attncli.data.lines import ClassifiedLine
from attncli.faithful.divide import split
from attncli.faithful.result import Line, text_line
from attncli.options import loading
from attncli.options.settings import Options
from attncli.options.shared import PictureSettings, TextBatches
from attncli.render.rows import InputCells, OutputCells, RowRunner
from attncli.render.weighted_text import weighted_text, words_in_colour
from attncli.task.panels import WeightedText
from attncli.task.runner import JsonObject
from attncli.terminal.messages import current_screen
from models.core.settings import option
from models.core.types import Classification, LabelProbability, WordWeight

if TYPE_CHECKING:
    from models.engines.classifier import Classifier


Nbest = Annotated[int, typer.Option("--nbest", "-n", min=1, help="Labels per line.")]
UNKNOWN = "unknown"  # label of a text without a letter that an identifier of languages knows
CODE = re.compile("[a-z]{2,3}")
DIGITS = 4


class Pieces(NamedTuple):
    """The texts that are classified for a line."""

    line: Line
    parts: list[str]  # none for an empty, unknown or faulty line
    note: str = ""
    unknown: bool = False


@dataclass(frozen=True)
class ClassifyOptions(Options):
    """Options of a classification."""

    TABLES = "picture attention compute"
    ASSIGNED = {}

    picture: PictureSettings = option(PictureSettings, "--show and --picture")
    compute: TextBatches = option(TextBatches, "computation")
    nbest: Nbest = 1


class ClassifyRunner(RowRunner[Line, ClassifiedLine]):
    """A classifier of lines. `run` is the only way to labels, for commands, jobs and service."""

    task = shipped = "classify"
    doing, unit, into, options_of = "classifying", "text", "label", ClassifyOptions
    load, item = staticmethod(partial(loading.load, task)), staticmethod(text_line)

    @classmethod
    def of(cls, model: Classifier, options: ClassifyOptions) -> ClassifyRunner:
        """Return the runner of a classifier."""
        return cls(loading.configured(cls.task, model, options), options)

    def run(
        self, chunks: Iterable[Sequence[Line]], *, weights: bool = False
    ) -> Iterator[list[ClassifiedLine]]:
        """Classify chunks of lines; yield the outcomes of each chunk as soon as it is done.

        An empty line has no label, and the model is not called. A line that is not valid text has
        no result. weights: True adds the weight of each word.
        """
        classifier, nbest = self.model, self.options.nbest
        for chunk in chunks:
            plans = [plan_line(line, classifier) for line in chunk]
            cut = any(len(plan.parts) > 1 for plan in plans)
            results = classifier.stream(
                [part for plan in plans for part in plan.parts],
                nbest=len(classifier.labels) if cut else nbest,
                attention=weights,
                max_batch_tokens=self.options.compute.batch_tokens,
            )
            found = [[next(results) for _ in plan.parts] for plan in plans]
            yield [
                _outcome(plan, parts, classifier, nbest)
                for plan, parts in zip(plans, found, strict=True)
            ]

    @property
    def several(self) -> bool:
        """True if a line may have several labels."""
        return bool(self.options.nbest > 1)

    def cells(self, result: ClassifiedLine) -> InputCells:
        """Return a text, and each label with its probability."""
        outputs = [OutputCells(label, f"{value:.{DIGITS}f}") for label, value in _labels(result)]
        return InputCells(result.line.text, outputs or [OutputCells()], result.line.number)

    def record(self, result: ClassifiedLine) -> JsonObject:
        """Return text, labels with probabilities, and words with weights or an error."""
        labels = [
            {"label": name, "probability": round(value, 6)} for name, value in _labels(result)
        ]
        record: JsonObject = {"text": result.line.text, "labels": labels}
        if result.result is None:
            return {**record, "error": result.note}
        if result.result.words:
            record["words"] = [word for word, _ in result.result.words]
            record["weights"] = [round(weight, DIGITS) for _, weight in result.result.words]
        if heads := result.result.heads:
            record["heads"] = [[round(weight, DIGITS) for weight in row] for row in heads]
        return record

    def heat_map(self, result: ClassifiedLine) -> str:
        """Return the words on the colours of their weights."""
        return words_in_colour(weighted_text(result), current_screen())

    def drawn(self, result: ClassifiedLine) -> Sequence[WeightedText]:
        """Return the words with their weights."""
        return [weighted_text(result)]

    def text(self, result: ClassifiedLine) -> str | None:
        """Return the best label; "" for an empty line."""
        return None if result.result is None else result.result.label


def plan_line(line: Line, classifier: Classifier) -> Pieces:
    """Return the parts of a line: itself, or several if it is too long for the model."""
    is_unknown = classifier.tokenizer.is_unknown
    if line.fault:
        return Pieces(line, [], f"line {line.number} is {line.fault}; not classified")
    if not line.text.strip():
        return Pieces(line, [])
    known = (letter for letter in filter(str.isalpha, line.text) if not is_unknown(letter))
    if all(map(CODE.fullmatch, classifier.labels)) and not any(known):
        return Pieces(line, [], unknown=True)
    length, most = classifier.source_length(line.text), classifier.max_source_length
    if length <= most:
        return Pieces(line, [line.text])
    parts = split(line.text, lambda text: classifier.source_length(text) <= most)
    note = f"line {line.number} has {length} tokens and the model takes {most}"
    return Pieces(line, parts, f"{note}; classified in {len(parts)} parts")


def _outcome(
    plan: Pieces, parts: list[Classification], classifier: Classifier, nbest: int
) -> ClassifiedLine:
    if plan.line.fault:
        return ClassifiedLine(plan.line, None, plan.note)
    if len(parts) < 2:
        labels = (LabelProbability(UNKNOWN, 1.0),) if plan.unknown else ()
        result = parts[0] if parts else Classification(plan.line.text, labels)
        return ClassifiedLine(plan.line, result._replace(labels=result.labels[:nbest]), plan.note)
    lengths = [classifier.source_length(part.text) for part in parts]
    joined = _joined(plan.line.text, parts, lengths)
    return ClassifiedLine(plan.line, joined._replace(labels=joined.labels[:nbest]), plan.note)


def _joined(text: str, parts: Sequence[Classification], lengths: Sequence[int]) -> Classification:
    """Return the mean of several results, weighted by their lengths in tokens."""
    totals: dict[str, float] = {}
    words: list[WordWeight] = []
    heads: list[list[float]] = [[] for _ in parts[0].heads]
    for part, length in zip(parts, lengths, strict=True):
        share = length / sum(lengths)
        for label, probability in part.labels:
            totals[label] = totals.get(label, 0.0) + share * probability
        words += [WordWeight(word, share * weight) for word, weight in part.words]
        for weights, more in zip(heads, part.heads, strict=True):
            weights += [share * weight for weight in more]
    best = sorted(totals.items(), key=lambda item: -item[1])
    labels = tuple(LabelProbability(*item) for item in best)
    return Classification(text, labels, tuple(words), tuple(map(tuple, heads)))


def _labels(outcome: ClassifiedLine) -> tuple[LabelProbability, ...]:
    return outcome.result.labels if outcome.result else ()
