"""Scores of sequences, labels and alignments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from attncli.data.alignments import PairLinks
from models.core.types import Link

Tokenize = Callable[[str], Sequence[str]]
Words = Sequence[str]

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


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


def rouge_l(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return the mean ROUGE-L F1 in percent, as the rouge-score package without stemming.

    P and R are shares of the longest common subsequence (Lin 2004). references: a list for each
    output. Words are runs of letters and digits in lower case; each kana and each Chinese character
    is a word.
    """

    from rapidfuzz.distance import LCSseq

    def compared(output: Words, reference: Words) -> tuple[int, int, int]:
        return LCSseq.similarity(output, reference), len(output), len(reference)

    return _mean_f1(compared, outputs, references)


def rouge_n(outputs: Sequence[str], references: Sequence[Sequence[str]], n: int) -> float:
    """Return the mean ROUGE-N F1 in percent, of the words of `rouge_l`.

    A text of fewer than n words scores 0; an empty output for an empty reference scores 100.
    """

    def ngrams(words: Words) -> Counter[tuple[str, ...]]:
        return Counter(zip(*(words[start:] for start in range(n)), strict=False))

    def compared(output: Words, reference: Words) -> tuple[int, int, int]:
        own, other = ngrams(output), ngrams(reference)
        return (own & other).total(), own.total(), other.total()

    return _mean_f1(compared, outputs, references)


def rouge_words(text: str) -> list[str]:
    """Return the words of a text, in lower case and without punctuation."""
    return WORD.findall(text.lower())


def _mean_f1(
    compared: Callable[[Words, Words], tuple[int, int, int]],
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
) -> float:
    """Return the mean over the outputs of the best F1 over the references, in percent.

    compared: returns the number of common units, of units of an output, and of a reference.
    """

    def f1(output: Words, reference: Words) -> float:
        if not output and not reference:
            return 1.0
        common, own, other = compared(output, reference)
        return f_score(common / max(1, own), common / max(1, other), beta=1.0)

    scores = [
        max(f1(rouge_words(output), rouge_words(text)) for text in texts)
        for output, texts in zip(outputs, references, strict=True)
    ]
    return 100 * sum(scores) / len(scores) if scores else 0.0


def f_score(precision: float, recall: float, *, beta: float) -> float:
    """Return the weighted harmonic mean of precision and recall."""
    weighted = recall + beta**2 * precision
    return (1 + beta**2) * precision * recall / weighted if weighted else 0.0
