"""Scores of labels: precision, recall and F1 of each, ranks, and the confusion matrix."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from attncli.render.plots import new_figure, save_figure
from models.text.normalise import nfc

NAMED = 60  # labels of a confusion matrix


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
    ranks: tuple[int, ...] = ()  # of the gold label of each text, from 1; 0: it has none

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

    def hits(self, first: int) -> float:
        """Share of texts with the right label among the first ones (hit@k), in percent."""
        return 100 * sum(0 < rank <= first for rank in self.ranks) / max(1, self.texts)

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank of the right label, in percent. Source: Voorhees 1999."""
        return 100 * sum(1 / rank for rank in self.ranks if rank) / max(1, self.texts)


def score_labels(
    predicted: Sequence[str], gold: Sequence[str], ranks: Sequence[int] = ()
) -> LabelScores:
    """Return the scores of predicted labels, one for each gold label.

    Decomposed accents do not matter. ranks: of the gold labels.
    """
    predicted, gold = [*map(nfc, predicted)], [*map(nfc, gold)]
    pairs = Counter(zip(gold, predicted, strict=True))
    names = sorted({*predicted, *gold})
    found, wanted = Counter(predicted), Counter(gold)
    counts = (LabelCounts(name, pairs[name, name], found[name], wanted[name]) for name in names)
    table = tuple(tuple(pairs[one, other] for other in names) for one in names)
    return LabelScores(tuple(counts), table, tuple(ranks))


def confusion_matrices(path: Path, evaluations: Sequence[tuple[str, LabelScores]]) -> None:
    """Draw the confusion matrix of each system: the share of each gold label, and the counts.

    Of more labels than NAMED some are named, and no counts are written.
    """
    most = max(len(scores.labels) for _, scores in evaluations)
    side, step = 2.0 + 0.45 * min(most, NAMED), math.ceil(most / NAMED)
    figure = new_figure(width=side * len(evaluations), height=side)
    panels = figure.subplots(1, len(evaluations), squeeze=False)[0]
    for axes, (name, scores) in zip(panels, evaluations, strict=True):
        labels = [counts.label or "(none)" for counts in scores.labels]
        shares = [[n / max(1, sum(row)) for n in row] for row in scores.confusion]
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for y, row in enumerate(scores.confusion):
            for x, count in enumerate(row):
                if count and step == 1:
                    colour = "white" if shares[y][x] > 0.5 else "black"
                    axes.text(x, y, str(count), ha="center", va="center", color=colour, fontsize=8)
        places, names = range(0, len(labels), step), labels[::step]
        axes.set_xticks(places, names, rotation=55, ha="right", rotation_mode="anchor")
        axes.set_yticks(places, names)
        axes.set_xlabel("predicted")
        axes.set_ylabel("gold")
        axes.set_title(f"{name}: accuracy {scores.accuracy:.1f} %", fontsize=9)
    save_figure(figure, path)
