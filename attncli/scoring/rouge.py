"""ROUGE of texts, by words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

Words = Sequence[str]

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


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
