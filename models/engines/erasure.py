"""Erasure: the log-probability that a word loses if its most attended part of the image is blurred.

lost(w, C) = log p(w | words before, image) - log p(w | words before, image blurred in the cells C)

C are the most attended fifth of the cells, or as many random ones. Attention that shows what the
word depends on loses more than a random fifth does.
Source: Petsiuk, Das and Saenko 2018 (deletion, with blur in place of black).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from PIL import Image, ImageFilter
from torch import Tensor

from models.engines.captioner import Caption, Captioner, words
from models.search.batching import pad, teacher_forcing_batch
from models.text.tokenizer import END

SHARE = 0.2  # of the cells
RADIUS = 1 / 16  # of the blur, as a share of the image's side


class Erased(NamedTuple):
    """What one word loses, in nats; the mean over its tokens."""

    attended: float  # its most attended cells are blurred
    random: float  # as many random cells are blurred


def erasure(
    captioner: Captioner, image: Image.Image, caption: Caption, chosen: Sequence[int], *, seed: int
) -> list[Erased]:
    """Return what the chosen words of a caption lose.

    image: the square that the captioner reads. caption: with attention. chosen: numbers of its
    words. seed: of the random cells.
    """
    assert caption.attention is not None
    maps, shape = caption.attention.maps.flatten(1), caption.attention.maps.shape[1:]
    count = max(1, round(SHARE * maps.shape[1]))
    random = torch.Generator().manual_seed(seed)
    erased = [image]
    for number in chosen:
        for order in (maps[number], torch.rand(maps.shape[1], generator=random)):
            cells = torch.zeros(maps.shape[1], dtype=torch.bool)
            cells[order.topk(count).indices] = True
            erased.append(blurred(image, cells.view(*shape)))
    ids = caption.hypotheses[0].ids
    found = token_log_probs(captioner, erased, ids)  # (1 + 2 W, T)
    groups, lost = words(captioner.tokenizer.pieces(ids)), found[0] - found[1:]
    means = [
        lost[2 * place : 2 * place + 2, slice(*groups[number])].mean(1)
        for place, number in enumerate(chosen)
    ]
    return [Erased(*pair.tolist()) for pair in means]


def blurred(image: Image.Image, cells: Tensor) -> Image.Image:
    """Return an image that is blurred in some cells of a grid (rows, columns)."""
    # blur, because a black rectangle adds edges to which the network reacts
    soft = image.filter(ImageFilter.GaussianBlur(image.width * RADIUS))
    mask = Image.fromarray((255 * cells.byte()).numpy()).resize(
        image.size, Image.Resampling.NEAREST
    )
    return Image.composite(soft, image, mask)


@torch.inference_mode()
def token_log_probs(
    captioner: Captioner, images: Sequence[Image.Image], ids: Sequence[int]
) -> Tensor:
    """Return the log-probabilities (N, T) of the tokens of one caption for each of N images."""
    features = captioner.features(images)
    target, real = pad([[*ids, END]] * len(images), features.device)
    slots = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
    batch = teacher_forcing_batch(features, slots, target, real)
    return captioner.model.target_log_probs(batch).cpu()
