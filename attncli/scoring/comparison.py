"""Results of a comparison of variants: a row per run, means over seeds, and significance.

    spread  s^2 = sum over variants and seeds of (x - mean)^2 / df,   df = runs - variants
significant:  |mean_1 - mean_2| > t(df) * s * sqrt(1/n_1 + 1/n_2)
This is Fisher's least significant difference. The spread is pooled over all variants, because two
or three seeds of one variant are too few to estimate it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

T_QUANTILES = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)  # 97.5 %, df 1 to 10


class RunScores(NamedTuple):
    """One finished run."""

    variant: str
    seed: int
    dev_bleu: float | None  # None for labels
    test_bleu: float | None  # None for labels, and without a test set
    perplexity: float  # per target token, or label, of the dev set
    aer: float | None  # percent; None without gold links
    aligned_by: str  # attention or diagonal; empty without AER
    parameters: int
    updates: int
    tokens_per_second: float  # target tokens, in training
    seconds: float  # of training, without evaluations
    read: str = ""  # read mode: soft, hard argmax, ..; empty without attention
    dev_accuracy: float | None = None  # percent; None for translations
    test_accuracy: float | None = None  # None for translations, and without a test set

    @property
    def metric(self) -> str:
        """Return the name of the score that ranks variants: BLEU or accuracy."""
        return "BLEU" if self.dev_accuracy is None else "accuracy"

    @property
    def dev_score(self) -> float:
        """Return BLEU or accuracy of the dev set."""
        found = self.dev_bleu if self.dev_accuracy is None else self.dev_accuracy
        assert found is not None
        return found

    @property
    def score(self) -> float:
        """Return the score that ranks variants: of the test set, else of the dev set."""
        found = self.test_bleu if self.dev_accuracy is None else self.test_accuracy
        return self.dev_score if found is None else found


class Spread(NamedTuple):
    """Mean and standard deviation over seeds."""

    mean: float
    deviation: float | None  # None for one seed


class Noise(NamedTuple):
    """Standard deviation between the seeds of one variant."""

    deviation: float  # of one run, pooled
    freedom: int  # degrees of freedom it was estimated with

    def margin(self, runs: int, others: int) -> float:
        """Return the least significant difference (95 %) of means over these numbers of runs."""
        return t_quantile(self.freedom) * self.deviation * math.sqrt(1 / runs + 1 / others)


def ranked(rows: Iterable[RunScores]) -> dict[str, list[RunScores]]:
    """Return the runs of each variant, the best variant first."""
    groups: dict[str, list[RunScores]] = {}
    for row in rows:
        groups.setdefault(row.variant, []).append(row)
    return dict(sorted(groups.items(), key=lambda item: -fmean(row.score for row in item[1])))


def spread(values: Sequence[float]) -> Spread:
    """Return mean and standard deviation of some values."""
    return Spread(fmean(values), stdev(values) if len(values) > 1 else None)


def noise(groups: Iterable[Sequence[float]]) -> Noise | None:
    """Return the pooled standard deviation of groups of values; None if no group has two values."""
    total, freedom = 0.0, 0
    for values in groups:
        mean = fmean(values)
        total += sum((value - mean) ** 2 for value in values)
        freedom += len(values) - 1
    return Noise(math.sqrt(total / freedom), freedom) if freedom else None


def t_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t, within one percent."""
    return T_QUANTILES[freedom - 1] if freedom <= 10 else 1.96 + 2.7 / freedom


def verdict(rows: Sequence[RunScores]) -> str:
    """Return sentences that tell which differences in score are significant."""
    groups = ranked(rows)
    found = noise([[row.score for row in group] for group in groups.values()])
    if found is None:
        return "One seed of each variant: the noise is unknown; --seeds 2 or more measures it."
    best, *others = groups
    counts = {name: len(group) for name, group in groups.items()}
    means = {name: fmean(row.score for row in group) for name, group in groups.items()}
    margins = {name: found.margin(counts[best], counts[name]) for name in others}
    close = [name for name in others if means[best] - means[name] <= margins[name]]
    return (
        f"Noise: the standard deviation of {rows[0].metric} between seeds is {found.deviation:.2f} "
        f"({found.freedom} degrees of freedom). Two means of {max(counts.values())} seeds that "
        f"differ by less than {found.margin(*[max(counts.values())] * 2):.2f} do not differ "
        f"significantly (95 %, without correction for several pairs).\n"
        f"Best: {best}. Not significantly worse: {'; '.join(close) or 'none'}."
    )
