"""Labels of lines as text, TSV or JSON lines: one writer for each format.

- ``text``: the best label of each line; with scores, its probability and a tab precede it. With
  ``--nbest`` above 1: ``index ||| label ||| probability``, index from 0.
- ``tsv``: text, label and probability of each label.
- ``jsonl``: one object per line: text, labels with their probabilities, words and weights if the
  attention was requested, and an error if the line was not classified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from attncli.data.lines import ClassifiedLine
from attncli.render.json import as_json_line
from attncli.render.rows import encoded_rows
from attncli.terminal.escapes import one_cell
from models.base.types import LabelProbability

DIGITS = 4


class LabelLayout(NamedTuple):
    """Layout of the output."""

    format: str = "text"  # a key of WRITERS
    nbest: bool = False  # True if a line may have several labels
    scores: bool = False  # True if plain text has probabilities


def rendered(outcomes: Sequence[ClassifiedLine], layout: LabelLayout) -> bytes:
    """Return the rows of some lines as UTF-8, each with the line ending of its text."""
    return encoded_rows(outcomes, layout, WRITERS)


def _text(outcome: ClassifiedLine, layout: LabelLayout) -> Iterator[str]:
    labels = _labels(outcome)
    if layout.nbest:
        index = outcome.line.number - 1
        for label, probability in labels:
            yield f"{index} ||| {label} ||| {probability:.{DIGITS}f}"
        if not labels:
            yield f"{index} |||  ||| "
        return
    best = labels[0] if labels else None
    score = f"{best.probability:.{DIGITS}f}" if best else ""
    yield (f"{score}\t" if layout.scores else "") + (best.label if best else "")


def _tsv(outcome: ClassifiedLine, layout: LabelLayout) -> Iterator[str]:
    text = one_cell(outcome.line.text)
    for label, probability in _labels(outcome):
        yield f"{text}\t{label}\t{probability:.{DIGITS}f}"
    if not _labels(outcome):
        yield f"{text}\t\t"


def _jsonl(outcome: ClassifiedLine, layout: LabelLayout) -> Iterator[str]:
    labels = [{"label": label, "probability": round(value, 6)} for label, value in _labels(outcome)]
    record: dict[str, object] = {"text": outcome.line.text, "labels": labels}
    if outcome.result and outcome.result.words:
        record["words"] = [word for word, _ in outcome.result.words]
        record["weights"] = [round(weight, DIGITS) for _, weight in outcome.result.words]
    if outcome.result and outcome.result.heads:
        record["heads"] = [
            [round(weight, DIGITS) for weight in row] for row in outcome.result.heads
        ]
    if outcome.result is None:
        record["error"] = outcome.note
    yield as_json_line(record)


WRITERS: dict[str, Callable[[ClassifiedLine, LabelLayout], Iterator[str]]] = {
    "text": _text,
    "tsv": _tsv,
    "jsonl": _jsonl,
}

if TYPE_CHECKING:
    Format = str
else:  # for the command line
    Format = Literal[tuple(WRITERS)]


def _labels(outcome: ClassifiedLine) -> tuple[LabelProbability, ...]:
    return outcome.result.labels if outcome.result else ()
