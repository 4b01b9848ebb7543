"""ROUGE-L and ROUGE-N: precision and recall of common subsequences and n-grams of words.

    ROUGE-L, of the longest common subsequence (LCS):   P = LCS / |output|,   R = LCS / |reference|
    ROUGE-N, of the n-grams of both, with repetitions:  P = common / n-grams of the output
                                                        R = common / n-grams of the reference
    F = (1 + beta^2) P R / (R + beta^2 P)

Two definitions of ROUGE-L are in use. ``rouge_l`` is that of summarisation (beta = 1, as in the
rouge-score package without stemming): the best F over the references. ``coco_rouge_l`` is that of
the COCO caption tools (beta = 1.2): P and R are each the best over the references.
Source: Lin 2004, sections 2 and 3; the COCO definition: Chen et al. 2015.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from attncli.scoring.caption_words import References, Words
from attncli.scoring.sequences import common_subsequence

COCO_BETA = 1.2
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


def rouge_l(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return the mean ROUGE-L F1 in percent.

    references: a list for each output. Words are runs of letters and digits in lower case; each
    kana and each Chinese character is a word.
    """

    def compared(output: Words, reference: Words) -> tuple[int, int, int]:
        return common_subsequence(output, reference), len(output), len(reference)

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


def coco_rouge_l(outputs: Sequence[Words], references: Sequence[References]) -> float:
    """Return the mean ROUGE-L of the COCO tools, from 0 to 1, for captions given as words."""
    scores = [_coco_f(*row) for row in zip(outputs, references, strict=True)]
    return sum(scores) / len(scores)


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
        return _f(common / max(1, own), common / max(1, other), beta=1.0)

    scores = [
        max(f1(rouge_words(output), rouge_words(text)) for text in texts)
        for output, texts in zip(outputs, references, strict=True)
    ]
    return 100 * sum(scores) / len(scores) if scores else 0.0


def _coco_f(output: Words, references: References) -> float:
    common = [common_subsequence(output, reference) for reference in references]
    precision = max(common) / max(1, len(output))
    recall = max(
        length / max(1, len(reference))
        for length, reference in zip(common, references, strict=True)
    )
    return _f(precision, recall, beta=COCO_BETA)


def _f(precision: float, recall: float, *, beta: float) -> float:
    weighted = recall + beta**2 * precision
    return (1 + beta**2) * precision * recall / weighted if weighted else 0.0
