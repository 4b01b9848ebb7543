"""CIDEr-D, and the reward of captions in self-critical training.

CIDEr-D is the similarity of a caption to the references of its image, by tf-idf weighted n-grams:

    CIDEr-D_n(c, r) = mean over r of  10 exp(-(|c| - |r|)^2 / 2 sigma^2)
                      * min(g(c), g(r)) . g(r) / (|g(c)| |g(r)|)
    CIDEr-D = mean over n = 1 ... 4

g is the vector of tf-idf weights of the n-grams. The document frequency of an n-gram is the number
of images with the n-gram in a reference. sigma is 6. As in the COCO tools, the value includes the
factor of 10, lengths are counted in bigrams, and a test set of one image scores 0 (its idf is 0).
Source: Vedantam, Zitnick, Parikh 2015, section 6.

    reward r(w) = CIDEr-D(w) - 0.5 * repeated(w)

repeated is the number of content words that the caption has more often than any reference, as in
"a sink and a sink". Source: Rennie et al. 2017; the last term is our own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from attncli.scoring.caption_words import References, Words, is_content_word, words

ORDER = 4  # words of the longest n-grams
SIGMA = 6.0
SCALE = 10.0

NGram = tuple[str, ...]


class Weighted(NamedTuple):
    """A caption as one tf-idf vector per order."""

    vectors: tuple[dict[NGram, float], ...]
    norms: tuple[float, ...]
    length: int  # in bigrams


class DocumentFrequency:
    """Document frequencies of n-grams, and the tf-idf vectors computed from them."""

    def __init__(self, images: Iterable[References]) -> None:
        """Count n-grams. images: the words of each caption of each image."""
        self.counts: Counter[NGram] = Counter()
        self.images = 0
        for captions in images:
            self.counts.update(set(chain.from_iterable(map(ngrams, captions))))
            self.images += 1
        self._log_images = math.log(max(1, self.images))

    def weighted(self, caption: Words) -> Weighted:
        """Return the tf-idf vectors of a caption's words."""
        vectors: tuple[dict[NGram, float], ...] = tuple({} for _ in range(ORDER))
        for ngram, count in Counter(ngrams(caption)).items():
            idf = self._log_images - math.log(max(1, self.counts[ngram]))
            vectors[len(ngram) - 1][ngram] = count * idf
        norms = tuple(math.sqrt(sum(w * w for w in vector.values())) for vector in vectors)
        return Weighted(vectors, norms, max(0, len(caption) - 1))

    def scores(self, captions: Sequence[Words], references: References) -> list[float]:
        """Return CIDEr-D of each caption of one image; all texts are given as words."""
        said = [self.weighted(reference) for reference in references]
        outputs = map(self.weighted, captions)
        return [SCALE * sum(similarity(o, s) for s in said) / len(said) for o in outputs]


def cider_d(outputs: Sequence[Words], references: Sequence[References]) -> float:
    """Return the mean CIDEr-D; all texts are given as words."""
    frequency = DocumentFrequency(references)
    found = [frequency.scores([o], texts)[0] for o, texts in zip(outputs, references, strict=True)]
    return sum(found) / len(found)


def ngrams(caption: Words) -> list[NGram]:
    """Return all n-grams of one to four words."""
    return [
        tuple(caption[start : start + order])
        for order in range(1, ORDER + 1)
        for start in range(len(caption) - order + 1)
    ]


def similarity(output: Weighted, reference: Weighted) -> float:
    """Return the mean over orders of the clipped cosine, times the penalty for the length."""
    total = 0.0
    for order in range(ORDER):
        said = reference.vectors[order]
        norms = output.norms[order] * reference.norms[order]
        if norms:
            shared = output.vectors[order].items()
            total += sum(min(w, said[g]) * said[g] for g, w in shared if g in said) / norms
    difference = output.length - reference.length
    return total / ORDER * math.exp(-(difference**2) / (2 * SIGMA**2))


REPETITION = 0.5  # price of a repeated content word


class Reward:
    """Reward of captions of the training images, computed from their reference captions."""

    def __init__(self, references: Iterable[Iterable[str]]) -> None:
        """Count the n-grams of the references: the captions of each training image."""
        self._references = [[words(text) for text in captions] for captions in references]
        self.frequency = DocumentFrequency(self._references)

    def __call__(self, outputs: Sequence[str], image: int) -> list[float]:
        """Return the reward of each output. image: number of the training image."""
        said, references = [words(text) for text in outputs], self._references[image]
        return [
            cider - REPETITION * repeated(caption, references)
            for cider, caption in zip(self.frequency.scores(said, references), said, strict=True)
        ]


def repeated(caption: Words, references: References) -> int:
    """Return how many content words a caption has more often than any of its references."""
    counts = [Counter(reference) for reference in references]
    return sum(
        max(0, times - max(1, *(count[word] for count in counts)))
        for word, times in Counter(caption).items()
        if times > 1 and is_content_word(word)
    )
