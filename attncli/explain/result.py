"""Explained lines: their numbers, and what is drawn and written of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from attncli.data.corpus import PairLine
from attncli.data.named_files import NamedFile
from attncli.faithful.result import Line
from attncli.render.image_maps import AttentionMaps
from attncli.render.rows import columns
from attncli.task.panels import AlignedPair
from attncli.task.runner import JsonObject, ShownResult
from models.core.errors import ModelError
from models.explain.explanation import RANDOM, Explanation, Measure
from models.text.alignment import Alignment, labelled

DIGITS = 4
LOSS = "comprehensiveness"
CLEAR, MIN_GAIN = 2.0, 0.1  # an explanation is trusted from so many times random and this value on
KEY = "share of the largest relevance of a method"
REFERENCE = "erasure"  # method that the others are correlated with in text


class ExplainItem(NamedTuple):
    """An input whose output is explained."""

    line: Line  # the text, or the name of the file
    pair: PairLine | None = None  # with a given translation; None: that of the model
    file: NamedFile | None = None


@dataclass(frozen=True, eq=False)
class ExplainedLine(ShownResult):
    """A line with its explanation. `print(result.picture)` draws it."""

    line: Line  # of an image: its path
    output: str = ""  # translation, label or caption
    explanation: Explanation | None = None  # None for an empty line, or `note` says why
    maps: AttentionMaps | None = None  # of an image: a map for each word and method
    note: str = ""  # why there is no explanation; empty for an empty line
    remark: str = ""  # about an output without words
    fault: ModelError | None = None  # that `note` reports

    @property
    def text(self) -> str:
        """The output that is explained."""
        return self.output

    @property
    def source(self) -> tuple[str, ...]:
        """The I units: words, or the seconds at which stretches of sound begin; () of an image."""
        return self.explanation.source if self.explanation else ()

    @property
    def target(self) -> tuple[str, ...]:
        """The J output words that are explained."""
        return self.explanation.target if self.explanation else ()

    @property
    def relevances(self) -> dict[str, Tensor]:
        """How much each unit counts for each output word, (J, I), by method."""
        rows = self.explanation.rows if self.explanation else ()
        return {row.method: row.values for row in rows}

    @property
    def unsupported(self) -> dict[str, str]:
        """The methods that the model does not support, and why."""
        return self.explanation.unsupported if self.explanation else {}

    @property
    def measures(self) -> dict[str, dict[str, Tensor]]:
        """The measures (J,) of each method, by their names, and those of a random order."""
        if not (found := self.explanation):
            return {}
        every = [*((row.method, row.measures) for row in found.rows), (RANDOM, found.control)]
        return {method: {one.name: one.values for one in some} for method, some in every}


def empty_output(line: Line, what: str) -> ExplainedLine:
    """Return the result for an output without words."""
    return ExplainedLine(line, remark=f"line {line.number}: the {what} is empty")


def heat_map_pair(outcome: ExplainedLine) -> AlignedPair:
    """Return a line as it is drawn: methods down, source words across, a panel for each word."""
    found = outcome.explanation
    assert found is not None
    methods = tuple(row.method for row in found.rows)
    panels = []
    for number, word in enumerate(found.target):  # relevances (M, I) as shares of the largest
        values = torch.stack([row.values[number] for row in found.rows]).clamp_min(0)
        shades = (values / values.amax(1, keepdim=True).clamp_min(1e-12)).numpy()
        panels.append(Alignment(found.source, methods, shades, entries=found.entries, name=word))
    return AlignedPair(outcome.line.number, tuple(panels), outcome.output, key=KEY)


def measure_table(found: Explanation) -> str:
    """Return the means of the measures over the words, a row for each method."""
    names = [measure.name for measure in found.control]
    reference = next((row for row in found.rows if row.method == REFERENCE), None)
    rows = [["", *names, *([f"correlation with {REFERENCE}"] if reference else [])]]
    for row in found.rows:
        correlation = [] if reference is None else [found.correlation(row, reference)]
        rows.append([row.method, *map(_number, [*means(row.measures), *correlation])])
    rows.append(["random", *map(_number, means(found.control)), *([""] if reference else [])])
    return columns(rows)


def closing_sentence(found: Explanation) -> str:
    """Return which words decided, by the most faithful method, and how far to trust it."""
    names = [measure.name for measure in found.control]
    at, sign = (names.index(LOSS), 1) if LOSS in names else (names.index("deletion"), -1)
    best = max(found.rows, key=lambda row: sign * means(row.measures)[at])
    gain, chance = means(best.measures)[at], means(found.control)[at]
    clear = gain >= max(CLEAR * chance, MIN_GAIN) if sign > 0 else gain * CLEAR <= chance
    first = zip(found.target, best.values.argmax(1).tolist(), strict=True)
    source = labelled(found.source, found.entries)
    decided = ", ".join(f"{word} \u2190 {source[i]}" for word, i in first if source)
    verdict = "this can be trusted" if clear else "trust it little"
    said = f"{names[at]} {gain:.2f}, at random {chance:.2f}: {verdict}"
    return f"What decided, by {best.method}{f': {decided}' if decided else ''} ({said}).\n"


def means(measures: Sequence[Measure]) -> list[float]:
    """Return the mean of each measure over the words."""
    return [float(measure.values.mean()) for measure in measures]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value + 0.0:.3f}".replace("-0.000", "0.000")


def measured(measures: Sequence[Measure]) -> JsonObject:
    """Return the measures of each word by name, and the curves whose areas the measures are."""
    record = {measure.name: rounded(measure.values) for measure in measures}
    curves = {f"{m.name}_curve": rounded(m.curve) for m in measures if m.curve is not None}
    return {**record, **curves}


def rounded(values: Tensor) -> object:
    """Return numbers with a few digits, as lists."""
    return (values.double() * 10**DIGITS).round().div(10**DIGITS).tolist()
