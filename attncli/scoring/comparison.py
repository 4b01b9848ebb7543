"""What a comparison of mechanisms found: a row for each run, means over seeds, and what is noise.

    spread  s^2 = sum over mechanisms and seeds of (x - mean)^2 / df,   df = runs - mechanisms
    told apart:  |mean_1 - mean_2| > t(df) * s * sqrt(1/n_1 + 1/n_2)
Fisher's least significant difference. The spread is pooled over all mechanisms, since two or three
seeds of one of them say next to nothing of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

T_QUANTILES = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)  # 97.5 %, df 1 to 10


class Row(NamedTuple):
    """One finished run."""

    mechanism: str
    seed: int
    dev_bleu: float
    test_bleu: float | None  # where there is a test set
    perplexity: float  # per target piece of the dev set
    aer: float | None  # percent, where the links are known
    aligned_by: str  # attention or diagonal; nothing without AER
    parameters: int
    updates: int
    tokens_per_second: float  # target pieces, while training
    seconds: float  # of training, without evaluations
    read: str = ""  # how the memory was read: soft, hard argmax, ..; nothing without attention

    @property
    def bleu(self) -> float:
        """What mechanisms are ranked by: of the test set where there is one."""
        return self.dev_bleu if self.test_bleu is None else self.test_bleu


class Spread(NamedTuple):
    """Mean and standard deviation over seeds."""

    mean: float
    deviation: float | None  # None of one seed


class Noise(NamedTuple):
    """How far two seeds of one mechanism lie apart."""

    deviation: float  # of one run, pooled
    freedom: int  # degrees of freedom it was estimated with

    def margin(self, runs: int, others: int) -> float:
        """The largest difference between means of so many runs that may be chance, at 95 %."""
        return t_quantile(self.freedom) * self.deviation * math.sqrt(1 / runs + 1 / others)


def ranked(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The runs of each mechanism, the best mechanism first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.mechanism, []).append(row)
    return dict(sorted(groups.items(), key=lambda item: -fmean(row.bleu for row in item[1])))


def spread(values: Sequence[float]) -> Spread:
    """Mean and standard deviation of some values."""
    return Spread(fmean(values), stdev(values) if len(values) > 1 else None)


def noise(groups: Iterable[Sequence[float]]) -> Noise | None:
    """The pooled spread of groups of values; None if no group has two."""
    total, freedom = 0.0, 0
    for values in groups:
        mean = fmean(values)
        total += sum((value - mean) ** 2 for value in values)
        freedom += len(values) - 1
    return Noise(math.sqrt(total / freedom), freedom) if freedom else None


def t_quantile(freedom: int) -> float:
    """Student's t at 97.5 %, within one percent."""
    return T_QUANTILES[freedom - 1] if freedom <= 10 else 1.96 + 2.7 / freedom


def verdict(rows: Sequence[Row]) -> str:
    """Which differences in BLEU are noise, in plain sentences."""
    groups = ranked(rows)
    found = noise([[row.bleu for row in group] for group in groups.values()])
    if found is None:
        return "One seed of each mechanism: how much chance does is not known; --seeds 2 tells."
    best, *others = groups
    counts = {name: len(group) for name, group in groups.items()}
    means = {name: fmean(row.bleu for row in group) for name, group in groups.items()}
    margins = {name: found.margin(counts[best], counts[name]) for name in others}
    close = [name for name in others if means[best] - means[name] <= margins[name]]
    return (
        f"Noise: one seed's BLEU spreads by {found.deviation:.2f} (standard deviation, "
        f"{found.freedom} degrees of freedom), so two means of {max(counts.values())} seeds that "
        f"differ by less than {found.margin(*[max(counts.values())] * 2):.2f} are not told apart "
        f"(95 %, each pair by itself).\n"
        f"Best: {best}. Not told apart from it: {'; '.join(close) or 'none'}."
    )
