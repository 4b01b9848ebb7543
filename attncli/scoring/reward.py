"""Reward of captions in self-critical training.

    r(w) = CIDEr-D(w) + weight * BLEU-4(w)

CIDEr-D on the scale of the COCO tools; BLEU-4 of one sentence in 0..1, by sacreBLEU with its
exponential smoothing. Source: Rennie et al. 2017, who train with either metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attncli.scoring.caption_words import words
from attncli.scoring.cider_d import DocumentFrequency


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
        found = self.frequency.scores(said, references)
        if not self.bleu_weight:
            return found
        texts = [" ".join(caption) for caption in references]
        bleu = (self._bleu.sentence_score(" ".join(caption), texts).score / 100 for caption in said)
        return [cider + self.bleu_weight * more for cider, more in zip(found, bleu, strict=True)]
