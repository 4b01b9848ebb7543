"""Similarity of the candidates of one input to each other: utilities of minimum Bayes risk.

A utility returns a matrix (N, N): row i, column j is the similarity of candidate i to candidate j
as its reference, from 0 to 1. A new one is a function, a row in `UTILITIES` and a name in
`models.config.UTILITIES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain

import numpy
from numpy.typing import NDArray

Matrix = NDArray[numpy.float64]

CHRF_ORDER = 6  # characters of the longest n-grams
CHRF_BETA = 2.0  # weight of the recall
BLEU_ORDER = 4  # words of the longest n-grams
WORD = re.compile(r"\w+|[^\w\s]")


def chrf(texts: Sequence[str]) -> Matrix:
    """Return chrF2 of the characters without spaces. Source: Popovic 2015, 2016; as in sacreBLEU.

    Precision and recall are means over the orders that both texts have.
    """
    units = ["".join(text.split()) for text in texts]
    precision = numpy.zeros((len(units), len(units)))
    recall, orders = numpy.zeros_like(precision), numpy.zeros_like(precision)
    for order in range(1, CHRF_ORDER + 1):
        common, total = matches(units, order)
        both = (total[:, None] > 0) & (total > 0)
        precision += numpy.where(both, common / numpy.maximum(total, 1)[:, None], 0)
        recall += numpy.where(both, common / numpy.maximum(total, 1), 0)
        orders += both
    weighted = CHRF_BETA**2 * precision + recall
    sums = (1 + CHRF_BETA**2) * precision * recall / numpy.where(weighted > 0, weighted, 1)
    return numpy.asarray(sums / numpy.maximum(orders, 1))  # from sums over the orders to means


def bleu(texts: Sequence[str]) -> Matrix:
    """Return BLEU-4 of the words and punctuation marks of single sentences.

    One is added to the counts of the orders above 1. Sources: Papineni et al. 2002; Lin and Och
    2004.
    """
    units = [WORD.findall(text) for text in texts]
    lengths = numpy.array([max(1, len(words)) for words in units], dtype=float)
    product = numpy.minimum(1, numpy.exp(1 - lengths / lengths[:, None]))  # the brevity penalty
    for order in range(1, BLEU_ORDER + 1):
        common, total = matches(units, order)
        added = order > 1
        precision = (common + added) / numpy.maximum(total + added, 1)[:, None]
        product *= precision ** (1 / BLEU_ORDER)
    return numpy.asarray(product)


UTILITIES: dict[str, Callable[[Sequence[str]], Matrix]] = {"chrf": chrf, "bleu": bleu}


def matches(units: Sequence[Sequence[str]], order: int) -> tuple[Matrix, Matrix]:
    """Return the numbers of common n-grams (N, N) of two texts each, and those of a text (N,).

    units: of each text, its characters or words. Common: each as often as it is in both texts.
    """
    ngrams = [
        [tuple(text[start : start + order]) for start in range(len(text) - order + 1)]
        for text in units
    ]
    places = {ngram: n for n, ngram in enumerate(dict.fromkeys(chain.from_iterable(ngrams)))}
    counts = numpy.zeros((len(units), len(places)))  # (N, G)
    for row, own in zip(counts, ngrams, strict=True):
        for ngram in own:
            row[places[ngram]] += 1
    common = [numpy.minimum(row, counts).sum(1) for row in counts]  # a row at a time: less memory
    return numpy.array(common), counts.sum(1)
