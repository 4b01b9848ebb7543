"""Scores of predicted labels: accuracy, precision, recall and F1 of each label, confusion matrix.

    precision = right / predicted,   recall = right / gold,   F1 = 2 right / (predicted + gold)
    accuracy = 100 * right / texts,  macro F1 = 100 * mean of F1 over the labels
Labels that are neither predicted nor gold do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from models.text.normalise import nfc


class LabelCounts(NamedTuple):
    """Number of texts for which a label is predicted, is gold, and is both."""

    label: str
    right: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Share of the predictions that are right, in percent; 0 without predictions."""
        return 100 * self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold labels that are predicted, in percent; 0 without gold labels."""
        return 100 * self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """F1 in percent."""
        return 200 * self.right / max(1, self.predicted + self.gold)


class LabelScores(NamedTuple):
    """Scores of the labels of one system."""

    labels: tuple[LabelCounts, ...]  # sorted by name
    confusion: tuple[tuple[int, ...], ...]  # [gold][predicted], in the order of `labels`

    @property
    def texts(self) -> int:
        """Number of texts."""
        return sum(label.gold for label in self.labels)

    @property
    def accuracy(self) -> float:
        """Share of texts with the right label, in percent."""
        return 100 * sum(label.right for label in self.labels) / max(1, self.texts)

    @property
    def macro_f1(self) -> float:
        """Mean F1 over the labels, in percent."""
        return sum(label.f1 for label in self.labels) / max(1, len(self.labels))


class LabelEvaluation(NamedTuple):
    """A system and the scores of its labels."""

    system: str
    scores: LabelScores


def score_labels(predicted: Sequence[str], gold: Sequence[str]) -> LabelScores:
    """Return the scores of predicted labels, one for each gold label.

    Decomposed accents do not matter.
    """
    predicted, gold = [*map(nfc, predicted)], [*map(nfc, gold)]
    pairs = Counter(zip(gold, predicted, strict=True))
    names = sorted({*predicted, *gold})
    found, wanted = Counter(predicted), Counter(gold)
    counts = (LabelCounts(name, pairs[name, name], found[name], wanted[name]) for name in names)
    table = tuple(tuple(pairs[one, other] for other in names) for one in names)
    return LabelScores(tuple(counts), table)
