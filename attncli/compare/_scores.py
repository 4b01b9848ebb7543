"""Results of a comparison of variants: a row per run, means over seeds, and significance.

    spread  s^2 = sum over variants and seeds of (x - mean)^2 / df,   df = runs - variants
significant:  |mean_1 - mean_2| > t(df) * s * sqrt(1/n_1 + 1/n_2)
This is Fisher's least significant difference. The spread is pooled over all variants, because two
or three seeds of one variant are too few to estimate it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

from attncli.scoring.score import MetricScore
from attncli.terminal.messages import counted

# 97.5 %, df 1 to 10
T_QUANTILES = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
QUALITY = {  # metrics of outputs: name, digits after the point; higher is better but for LOWER
    "bleu": ("BLEU", 2),
    "chrf": ("chrF", 2),
    "accuracy": ("accuracy", 2),  # percent
    "cider": ("CIDEr-D", 3),  # as the COCO tools give it
    "bleu4": ("BLEU-4", 2),
    "rouge_l": ("ROUGE-L", 2),
    "wer": ("WER", 2),  # percent
    "cer": ("CER", 2),
}
LOWER = ("wer", "cer")  # metrics of which lower is better
PARTS = ("dev", "test")
MIN_BLEU = 10  # below it, differences between variants say nothing


class RunScores(NamedTuple):
    """One finished run."""

    variant: str
    seed: int
    dev: tuple[MetricScore, ...]  # named by keys of QUALITY; the first ranks the variants
    test: tuple[MetricScore, ...]  # the same metrics; empty without a test set
    perplexity: float  # per target token, or label, of the dev set
    aer: float | None  # percent; None without gold links, and without attention
    parameters: int
    updates: int
    tokens_per_second: float  # target tokens, in training
    seconds: float  # of training, without evaluations
    read: str = ""  # read mode: soft, hard argmax, ..; empty without attention

    @property
    def metric(self) -> str:
        """Return the metric that ranks variants, a key of QUALITY."""
        return self.dev[0].name

    @property
    def dev_score(self) -> float:
        """Return the score of the dev set that ranks variants; negated if lower is better."""
        return self.sign * self.dev[0].value

    @property
    def sign(self) -> int:
        """Return 1 if a higher score is better, -1 if a lower one is."""
        return -1 if self.metric in LOWER else 1

    @property
    def score(self) -> float:
        """Return the score that is compared: of the test set, else of the dev set."""
        return (self.test or self.dev)[0].value

    def quality(self, part: str, metric: str) -> float | None:
        """Return the score of the dev or test set by a metric; None if it was not measured."""
        scores: tuple[MetricScore, ...] = getattr(self, part)
        return next((score.value for score in scores if score.name == metric), None)

    def as_record(self) -> dict[str, object]:
        """Return the row as a flat record, in which dev BLEU has the key dev_bleu."""
        record: dict[str, object] = {}
        for name, value in self._asdict().items():
            if name in PARTS:
                record |= {f"{name}_{score.name}": score.value for score in value}
            else:
                record[name] = value
        return record


def from_record(record: Mapping[str, Any]) -> RunScores:
    """Return the row of a record; raise ValueError or TypeError for another one."""
    row = {name: value for name, value in record.items() if name in RunScores._fields}
    for part in PARTS:
        row[part] = tuple(
            MetricScore(metric, float(value))
            for metric in QUALITY
            if (value := record.get(f"{part}_{metric}")) is not None
        )
    if not row["dev"]:
        raise ValueError("no score of the dev set")
    return RunScores(**row)


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
        degrees = self.freedom
        quantile = T_QUANTILES[degrees - 1] if degrees <= 10 else 1.96 + 2.7 / degrees  # within 1 %
        return quantile * self.deviation * math.sqrt(1 / runs + 1 / others)


def ranked(rows: Iterable[RunScores]) -> dict[str, list[RunScores]]:
    """Return the runs of each variant, the one of the best mean dev score first."""
    groups: dict[str, list[RunScores]] = {}
    for row in rows:
        groups.setdefault(row.variant, []).append(row)
    return dict(sorted(groups.items(), key=lambda item: -fmean(row.dev_score for row in item[1])))


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


def verdict(rows: Sequence[RunScores]) -> str:
    """Return sentences that tell which differences in score are significant.

    The best variant is chosen on the dev set. A further line tells if all scores are too low.
    """
    return f"{_significance(rows)}\n{low_scores(rows)}".rstrip()


def low_scores(rows: Sequence[RunScores]) -> str:
    """Return a sentence that tells if all scores are too low to compare variants, or ""."""
    best = max(row.dev_score for row in rows)
    if rows[0].metric != "bleu" or best >= MIN_BLEU:
        return ""
    return (
        f"The best dev BLEU is {best:.2f}, below {MIN_BLEU}: such scores do not tell variants "
        "apart; train for more updates, or on more data."
    )


def _significance(rows: Sequence[RunScores]) -> str:
    groups = ranked(rows)
    scores = {name: [row.score for row in group] for name, group in groups.items()}
    found = noise(scores.values())
    if found is None:
        return "One seed of each variant: the noise is unknown; --seeds 2 or more measures it."
    metric = rows[0].metric
    measured = f"{'test' if rows[0].test else 'dev'} {QUALITY[metric][0]}"
    if all(len(set(values)) == 1 for values in scores.values()):
        return _without_noise(scores, measured, _on_dev(rows))
    best, *others = scores
    close = [
        name
        for name in others
        if rows[0].sign * (fmean(scores[best]) - fmean(scores[name]))
        <= found.margin(len(scores[best]), len(scores[name]))
    ]
    on_test = " on the test set" if rows[0].test else ""
    worse = f" Significantly worse{on_test}: all others." if others else ""
    rest = f" Not significantly worse{on_test}: {'; '.join(close)}." if close else worse
    most = max(map(len, scores.values()))
    deviation, margin = _number(found.deviation, metric), _number(found.margin(most, most), metric)
    return (
        f"Noise: the standard deviation of {measured} between seeds is {deviation} "
        f"({counted(found.freedom, 'degree')} of freedom). Two means of {most} seeds that differ "
        f"by less than {margin} do not differ significantly (95 %, without correction for several "
        f"pairs).\nBest{_on_dev(rows)}: {best}.{rest}"
    )


def _on_dev(rows: Sequence[RunScores]) -> str:
    """Return where the best variant was chosen, if there is a test set too."""
    return " on the dev set" if rows[0].test else ""


def _without_noise(scores: Mapping[str, Sequence[float]], measured: str, on_dev: str) -> str:
    """Return the sentences for variants whose seeds all have equal scores; the best one first.

    measured: the set and the metric.
    """
    best, *others = scores
    equal = [name for name in others if scores[name][0] == scores[best][0]]
    return (
        f"Noise: unknown, because {measured} is the same for all seeds of each variant; "
        "a larger test set, or harder data, may measure it.\n"
        f"Best{on_dev}: {best}. Equal: {'; '.join(equal) or 'none'}."
    )


def _number(value: float, metric: str) -> str:
    """Return a value with the digits of its metric, or with more if it would be shown as 0."""
    digits = QUALITY[metric][1]
    return f"{value:.{digits}f}" if round(value, digits) else f"{value:.1g}"
