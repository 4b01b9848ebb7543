"""Classification of lines, and its results as text, TSV and JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.faithful.divide import split
from attncli.faithful.result import Line, text_line
from attncli.options.loading import LoadedRunner
from attncli.options.settings import Options
from attncli.options.shared import PictureSettings, TextBatches
from attncli.render.rows import InputCells, OutputCells
from attncli.render.weighted_text import html, words_in_colour
from attncli.task.panels import WeightedText, WeightRow
from attncli.task.runner import JsonObject, ShownResult
from attncli.terminal.messages import current_screen
from models.core.errors import InputError
from models.core.settings import option
from models.core.types import Classification, LabelProbability, WordWeight

if TYPE_CHECKING:
    from models.engines.classifier import Classifier


Nbest = Annotated[int, typer.Option("--nbest", "-n", min=1, help="Labels per line.")]
UNKNOWN = "unknown"  # label of a text without a letter that an identifier of languages knows
CODE = re.compile("[a-z]{2,3}")
DIGITS = 4


@dataclass(frozen=True)
class ClassifiedLine(ShownResult):
    """A line with its labels, most probable first, and the weights of its words."""

    line: Line  # one with a fault has no labels, and `note` has the reason
    labels: tuple[LabelProbability, ...] = ()  # none for an empty line
    words: tuple[WordWeight, ...] = ()  # if the attention was requested
    heads: tuple[tuple[float, ...], ...] = ()  # weights of the words by head, if there are several
    note: str = ""

    @property
    def text(self) -> str:
        """The text of the line."""
        return self.line.text

    @property
    def label(self) -> str:
        """The most probable label; "" for an empty line."""
        return self.labels[0].label if self.labels else ""

    @property
    def score(self) -> float:
        """Probability of the best label; 0 for an empty line."""
        return self.labels[0].probability if self.labels else 0.0

    @property
    def alignment(self) -> tuple[WordWeight, ...]:
        """The words with their weights."""
        return self.words

    @property
    def weighed(self) -> ClassifiedLine:
        """This result; raise InputError if the weights of its words were left out."""
        if self.labels and not self.words and self.label != UNKNOWN:
            raise InputError("a label without the weights of words", "classify(attention=True)")
        return self

    @property
    def drawn(self) -> WeightedText:
        """The line as it is drawn."""
        number = self.line.number
        if not self.labels:
            return WeightedText(number, (), (), note=self.note)
        rows = [WeightRow(f"head {n}", weights) for n, weights in enumerate(self.heads, 1)]
        mean = WeightRow("", tuple(weight for _, weight in self.words))
        words = tuple(word for word, _ in self.words)
        label = f"{self.label} ({100 * self.score:.0f} %)"
        return WeightedText(number, words, tuple(rows) or (mean,), label)


@dataclass(frozen=True)
class ClassifyOptions(Options):
    """Options of a classification."""

    TABLES = "picture attention compute"
    ASSIGNED = {}

    picture: PictureSettings = option(PictureSettings, "--show and --picture")
    compute: TextBatches = option(TextBatches, "computation")
    nbest: Nbest = 1


class ClassifyRunner(LoadedRunner[Line, ClassifiedLine, "Classifier", ClassifyOptions]):
    """A classifier of lines. `run` is the only way to labels, for commands, jobs and service."""

    task = shipped = "classify"
    doing, unit, into, options_of = "classifying", "text", "label", ClassifyOptions
    item = staticmethod(text_line)

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
            cut = any(len(parts) > 1 for _, parts in plans)
            results = classifier.stream(
                [part for _, parts in plans for part in parts],
                nbest=len(classifier.labels) if cut else nbest,
                attention=weights,
                max_batch_tokens=self.options.compute.batch_tokens,
            )
            found = [(line, [next(results) for _ in parts]) for line, parts in plans]
            yield [replace(_classified(*each, classifier, nbest), by=self) for each in found]

    @property
    def several(self) -> bool:
        """True if a line may have several labels."""
        return bool(self.options.nbest > 1)

    def cells(self, result: ClassifiedLine) -> InputCells:
        """Return a text, and each label with its probability."""
        outputs = [OutputCells(label, f"{value:.{DIGITS}f}") for label, value in result.labels]
        return InputCells(result.line.text, outputs or [OutputCells()], result.line.number)

    def record(self, result: ClassifiedLine) -> JsonObject:
        """Return text, labels with probabilities, and words with weights or an error."""
        labels = [{"label": name, "probability": round(value, 6)} for name, value in result.labels]
        record: JsonObject = {"text": result.line.text, "labels": labels}
        if result.line.fault:
            return {**record, "error": result.note}
        if result.words:
            record["words"] = [word for word, _ in result.words]
            record["weights"] = [round(weight, DIGITS) for _, weight in result.words]
        if result.heads:
            record["heads"] = [[round(weight, DIGITS) for weight in row] for row in result.heads]
        return record

    def heat_map(self, result: ClassifiedLine) -> str:
        """Return the words on the colours of their weights."""
        return words_in_colour(result.drawn, current_screen())

    def page(self, result: ClassifiedLine) -> tuple[bytes, int]:
        """Return the coloured words."""
        return html([result.drawn]), 115 + 22 * (len(result.text) // 80)

    def drawn(self, result: ClassifiedLine) -> Sequence[WeightedText]:
        """Return the words with their weights."""
        return [result.drawn]

    def text(self, result: ClassifiedLine) -> str | None:
        """Return the best label; "" for an empty line."""
        return None if result.line.fault else result.label


def plan_line(line: Line, classifier: Classifier) -> tuple[ClassifiedLine, list[str]]:
    """Return a line and the texts that are classified for it: itself, or parts of a long one.

    There are none for an empty, unknown or faulty line, which is complete.
    """
    is_unknown = classifier.tokenizer.is_unknown
    if line.fault:
        note = f"line {line.number} is {line.fault}; not classified"
        return ClassifiedLine(line, note=note), []
    if not line.text.strip():
        return ClassifiedLine(line), []
    known = (letter for letter in filter(str.isalpha, line.text) if not is_unknown(letter))
    if all(map(CODE.fullmatch, classifier.labels)) and not any(known):
        return ClassifiedLine(line, (LabelProbability(UNKNOWN, 1.0),)), []
    length, most = classifier.source_length(line.text), classifier.max_source_length
    if length <= most:
        return ClassifiedLine(line), [line.text]
    parts = split(line.text, lambda text: classifier.source_length(text) <= most)
    note = f"line {line.number} has {length} tokens and the model takes {most}"
    return ClassifiedLine(line, note=f"{note}; classified in {len(parts)} parts"), parts


def _classified(
    line: ClassifiedLine, parts: list[Classification], classifier: Classifier, nbest: int
) -> ClassifiedLine:
    """Return a line with the results of its parts."""
    if not parts:
        return line
    lengths = [classifier.source_length(part.text) for part in parts]
    _, labels, words, heads = _joined(line.text, parts, lengths) if len(parts) > 1 else parts[0]
    return replace(line, labels=labels[:nbest], words=words, heads=heads)


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
