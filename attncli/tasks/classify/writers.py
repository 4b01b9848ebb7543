"""Labels of lines as text, TSV or JSON lines: their cells and records.

- ``text``: the best label of each line; with scores, its probability and a tab precede it. With
  ``--nbest`` above 1: ``index ||| label ||| probability``, index from 0.
- ``tsv``: text, label and probability of each label.
- ``jsonl``: one object per line: text, labels with their probabilities, words and weights if the
  attention was requested, and an error if the line was not classified.
"""

from __future__ import annotations

from collections.abc import Sequence

from attncli.data.lines import ClassifiedLine
from attncli.render.rows import InputCells, OutputCells, RowLayout, RowWriter, encoded_rows
from models.base.types import LabelProbability

DIGITS = 4


def rendered(outcomes: Sequence[ClassifiedLine], layout: RowLayout) -> bytes:
    """Return the rows of some lines as UTF-8, each with the line ending of its text."""
    return encoded_rows(outcomes, layout, WRITER)


def _cells(outcome: ClassifiedLine, layout: RowLayout) -> InputCells:
    outputs = [OutputCells(label, f"{value:.{DIGITS}f}") for label, value in _labels(outcome)]
    return InputCells(outcome.line.text, outputs or [OutputCells()], outcome.line.number)


def _record(outcome: ClassifiedLine, layout: RowLayout) -> dict[str, object]:
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
    return record


def _labels(outcome: ClassifiedLine) -> tuple[LabelProbability, ...]:
    return outcome.result.labels if outcome.result else ()


WRITER = RowWriter(_cells, _record)
