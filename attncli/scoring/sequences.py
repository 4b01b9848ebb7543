"""Scores of sequences, labels and alignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from attncli.data.alignments import PairLinks
from models.core.types import Link
from models.text.normalise import nfc

Tokenize = Callable[[str], Sequence[str]]


def references_by_output(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return a list of references for each output, without the missing ones.

    columns: the first reference of each output, the second and so on; None where one is missing.
    """
    return [[text for text in row if text is not None] for row in zip(*columns, strict=True)]


def exact_match(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return the share of outputs equal to one of their references, in percent.

    references: a list for each output. Runs of spaces count as one space.
    """
    pairs = zip(outputs, references, strict=True)
    equal = sum(output.split() in [text.split() for text in texts] for output, texts in pairs)
    return 100 * equal / len(outputs) if outputs else 0.0


def error_rate(
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: Tokenize = str.split,
) -> float:
    """Return the token error rate in percent; 0 is best.

    references: a list for each output.
    """
    from rapidfuzz.distance import Levenshtein  # where outputs are scored alone

    edits = length = 0
    for output, texts in zip(outputs, references, strict=True):
        tokens = tokenize(output)
        wanted = [tokenize(text) for text in texts]
        compared = [(Levenshtein.distance(tokens, each), len(each)) for each in wanted]
        fewest, size = min(compared, key=lambda pair: (pair[0] / max(1, pair[1]), -pair[1]))
        edits, length = edits + fewest, length + size
    return 100 * edits / max(1, length)


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


class AlignmentScores(NamedTuple):
    """Scores of links against gold links, from 0 to 1, and the number of links."""

    error_rate: float
    precision: float
    recall: float
    f: float
    links: int


def score_alignments(
    found: Iterable[frozenset[Link]], gold: Sequence[PairLinks]
) -> AlignmentScores:
    """Return the scores of the links of all pairs; found and gold have an item for each pair.

        precision = |A & P| / |A|  recall = |A & S| / |S|  F = 2 / (1/precision + 1/recall)
        AER = 1 - (|A & S| + |A & P|) / (|A| + |S|)
    A: links; S and P: sure and possible links of the gold, S within P; sums over all sentences.
    Source: Och and Ney 2003, section 4.1; Fraser and Marcu 2007, section 4 (F).
    """
    links = sure = hits = certain = 0
    for row, wanted in zip(found, gold, strict=True):
        links += len(row)
        sure += len(wanted.sure)
        hits += len(row & (wanted.possible | wanted.sure))
        certain += len(row & wanted.sure)
    precision, recall = share(hits, links), share(certain, sure)
    return AlignmentScores(
        error_rate=1 - share(certain + hits, links + sure),
        precision=precision,
        recall=recall,
        f=share(2 * precision * recall, precision + recall),
        links=links,
    )


def share(part: float, whole: float) -> float:
    """Return part / whole; 1 if both are 0, and 0 if only the whole is."""
    return part / whole if whole else float(not part)
