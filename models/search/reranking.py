"""Reranking: another order of the outputs that a search found. Imports no torch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from models.core.types import Hypothesis
from models.core.use_config import SearchConfig

ORDER, BETA = 6, 2  # of chrF: longest n-gram in characters, weight of the recall

T = TypeVar("T")


class MinimumBayesRisk:
    """Minimum Bayes risk: the output that has the highest expected chrF with the others.

    y* = argmax_y sum_y' p(y' | x) chrF(y, y')   p over the outputs found; of samples, equal shares
    Source: Kumar, Byrne 2004; chrF: Popović 2015.
    """

    def __init__(self, config: SearchConfig) -> None:
        self.is_sampled = config.method == "sample"

    def ranked(self, outputs: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the outputs of an input, the one with the highest expected chrF first."""
        counts = [ngrams_of(one.text) for one in outputs]
        most = max(one.log_prob for one in outputs)
        # samples stand for their probability by their number; weights would count it twice
        shares = [1.0 if self.is_sampled else math.exp(one.log_prob - most) for one in outputs]
        gains = [
            math.fsum(share * chrf(own, other) for share, other in zip(shares, counts, strict=True))
            for own in counts
        ]
        order = sorted(range(len(outputs)), key=lambda number: -gains[number])
        return [outputs[number] for number in order]


def ngrams_of(text: str) -> list[Counter[str]]:
    """Return the character n-grams of a text without its spaces, for n = 1, 2, ..., ORDER."""
    # sacreBLEU's chrF leaves out spaces by default, and the order must be that of its scores
    solid = "".join(text.split())
    return [
        Counter(solid[start : start + size] for start in range(len(solid) - size + 1))
        for size in range(1, ORDER + 1)
    ]


def chrf(output: Sequence[Counter[str]], reference: Sequence[Counter[str]]) -> float:
    """Return chrF of an output given n-grams, from 0 to 1; it equals sacreBLEU's of a sentence."""
    precision = recall = orders = 0.0
    for own, other in zip(output, reference, strict=True):
        if own and other:
            common = (own & other).total()
            precision, recall = precision + common / own.total(), recall + common / other.total()
            orders += 1
    if not precision + recall:
        return 0.0
    return (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall) / orders
