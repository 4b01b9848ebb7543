"""Reward of captions in self-critical training.

    r(w) = CIDEr-D(w) + weight * BLEU-4(w) - 0.5 * repeated(w)

CIDEr-D on the scale of the COCO tools; BLEU-4 of one sentence in 0..1, by sacreBLEU with its
exponential smoothing; repeated is the number of content words that the caption has more often than
any reference, as in "a sink and a sink". Source: Rennie et al. 2017, who train with either metric;
the last term is our own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from attncli.scoring.caption_words import References, Words, is_content_word, words
from attncli.scoring.cider_d import DocumentFrequency

REPETITION = 0.5  # price of a repeated content word


class Reward:
    """Reward of captions of the training images, computed from their reference captions."""

    def __init__(self, references: Iterable[Iterable[str]], *, bleu_weight: float = 0.0) -> None:
        """Count the n-grams of the references: the captions of each training image."""
        from sacrebleu.metrics.bleu import BLEU

        self._references = [[words(text) for text in captions] for captions in references]
        self.frequency = DocumentFrequency(self._references)
        self.bleu_weight = bleu_weight
        self._bleu = BLEU(tokenize="none", smooth_method="exp", effective_order=True, force=True)

    def __call__(self, outputs: Sequence[str], image: int) -> list[float]:
        """Return the reward of each output. image: number of the training image."""
        said, references = [words(text) for text in outputs], self._references[image]
        found = [
            cider - REPETITION * repeated(caption, references)
            for cider, caption in zip(self.frequency.scores(said, references), said, strict=True)
        ]
        if not self.bleu_weight:
            return found
        texts = [" ".join(caption) for caption in references]
        bleu = (self._bleu.sentence_score(" ".join(caption), texts).score / 100 for caption in said)
        return [cider + self.bleu_weight * more for cider, more in zip(found, bleu, strict=True)]


def repeated(caption: Words, references: References) -> int:
    """Return how many content words a caption has more often than any of its references."""
    counts = [Counter(reference) for reference in references]
    return sum(
        max(0, times - max(1, *(count[word] for count in counts)))
        for word, times in Counter(caption).items()
        if times > 1 and is_content_word(word)
    )
