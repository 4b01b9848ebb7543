"""Scores of captions as the COCO tools compute them, with several references per image.

BLEU is computed by sacreBLEU, on the words of those tools. BLEU-n is the geometric mean of the
precisions of orders 1 to n, with and without the brevity penalty (Xu et al. 2015 report it
without). ROUGE-L and CIDEr-D are computed here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from attncli.caption._cider import References, cider_d, words
from attncli.scoring.sequences import Words, f_score
from models.core.errors import ModelError

COCO_BETA = 1.2  # of ROUGE-L


class Bleu(NamedTuple):
    """BLEU-1 to BLEU-4, from 0 to 100."""

    penalised: tuple[float, ...]
    plain: tuple[float, ...]  # without the brevity penalty
    length_ratio: float  # output length over that of the closest references
    signature: str


class CaptionScores(NamedTuple):
    """Scores of the captions of a test set."""

    bleu: Bleu
    rouge_l: float  # 0..100
    cider: float  # CIDEr-D as the COCO tools give it; some papers write it times 100
    captions: int

    @property
    def bleu4(self) -> float:
        """Return BLEU-4 with the brevity penalty."""
        return self.bleu.penalised[3]


def caption_scores(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> CaptionScores:
    """Return all scores of some captions.

    references: the reference captions, a list for each output. Raises ModelError for an output
    without references, and for no outputs.
    """
    if len(outputs) != len(references) or not outputs or not all(references):
        raise ModelError(
            f"{len(outputs):,} captions for {len(references):,} images",
            "one caption for each image, and at least one reference",
        )
    said = [words(text) for text in outputs]
    expected = [[words(text) for text in texts] for texts in references]
    return CaptionScores(
        bleu=_bleu(said, expected),
        rouge_l=100 * coco_rouge_l(said, expected),
        cider=cider_d(said, expected),
        captions=len(outputs),
    )


def _bleu(outputs: list[list[str]], references: list[list[list[str]]]) -> Bleu:
    """Return BLEU of all orders, without smoothing, as in the COCO tools."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    columns = zip_longest(*([" ".join(text) for text in texts] for texts in references))
    found = metric.corpus_score([" ".join(text) for text in outputs], list(map(list, columns)))
    plain = tuple(_mean(found.precisions[: order + 1]) for order in range(4))
    penalised = tuple(found.bp * value for value in plain)
    ratio = found.sys_len / max(1, found.ref_len)
    return Bleu(penalised, plain, ratio, str(metric.get_signature()))


def _mean(precisions: Sequence[float]) -> float:
    """Return the geometric mean."""
    if min(precisions) <= 0:
        return 0.0
    return min(100.0, math.exp(sum(map(math.log, precisions)) / len(precisions)))


def coco_rouge_l(outputs: Sequence[Words], references: Sequence[References]) -> float:
    """Return the mean ROUGE-L of the COCO tools, from 0 to 1, for captions given as words.

    P and R are each the best over the references (Chen et al. 2015).
    """
    scores = [_coco_f(*row) for row in zip(outputs, references, strict=True)]
    return sum(scores) / len(scores)


def _coco_f(output: Words, references: References) -> float:
    from rapidfuzz.distance import LCSseq

    common = [LCSseq.similarity(output, reference) for reference in references]
    precision = max(common) / max(1, len(output))
    recall = max(
        length / max(1, len(reference))
        for length, reference in zip(common, references, strict=True)
    )
    return f_score(precision, recall, beta=COCO_BETA)
