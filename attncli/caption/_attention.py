"""Scores of a captioner's attention: how concentrated it is, and what the words lose by erasure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.named_files import NamedFile
from attncli.render.image_maps import is_content_word
from attncli.terminal.messages import ShowProgress
from models.core.config import BATCH_IMAGES

if TYPE_CHECKING:
    from models.engines.captioner import Captioner


class AttentionScores(NamedTuple):
    """Means over the content words of the captions of a test set."""

    words: int
    entropy: float  # share of the maximum, that of equal weights
    attended: float  # nats of log-probability lost if the most attended fifth is blurred
    random: float  # nats lost if a random fifth is blurred
    copied: float | None = None  # share of the words that were copied from labels, if it copies

    @property
    def ratio(self) -> float:
        """Quotient of both losses: above 1 if attention shows what the words depend on."""
        return self.attended / self.random if self.random > 0 else math.inf


def attention_scores(
    captioner: Captioner, files: Sequence[NamedFile], advance: ShowProgress
) -> AttentionScores:
    """Caption images and return the scores of the attention maps."""
    from models.engines.erasure import Erased, erasure  # imports torch
    from models.signals.images import open_image, to_square

    config = captioner.config.image
    entropy: list[float] = []
    copied: list[float] = []
    erased: list[Erased] = []
    for start in range(0, len(files), BATCH_IMAGES):
        group = files[start : start + BATCH_IMAGES]
        images = [
            to_square(open_image(file.content(), name=file.name, least=config.size), config)
            for file in group
        ]
        found = captioner.caption(images, attention=True)
        for number, (image, caption) in enumerate(zip(images, found, strict=True), start):
            maps = caption.attention
            assert maps is not None
            chosen = [n for n, word in enumerate(maps.words) if is_content_word(word)]
            most = math.log(maps.maps[0].numel()) if chosen else 1.0
            entropy += [float(maps.entropy[n]) / most for n in chosen]
            if maps.copied is not None:
                copied += [float(maps.copied[n] > 1 / 2) for n in chosen]
            erased += erasure(captioner, image, caption, chosen, seed=number)
            advance(number + 1, "")
    count = max(1, len(entropy))
    return AttentionScores(
        len(entropy),
        sum(entropy) / count,
        sum(one.attended for one in erased) / count,
        sum(one.random for one in erased) / count,
        sum(copied) / count if copied else None,
    )
