"""Erasure: the log-probability that a word loses if its most attended part of the image is blurred.

lost(w, C) = log p(w | words before, image) - log p(w | words before, image blurred in the cells C)

C are the most attended fifth of the cells, or as many random ones. Attention that shows what the
word depends on loses more than a random fifth does.
Source: Petsiuk, Das and Saenko 2018 (deletion, with blur in place of black).

Erasure also chooses the layer and head whose maps are shown, without labelled regions. The image is
blurred in one region of a coarse grid at a time. The chosen head gives most weight to the regions
without which a word becomes less probable, with lost+ = max(lost, 0):

    score(layer, head) = sum_w sum_r weight(w, r) lost+(w, r) / sum_w sum_r lost+(w, r)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from PIL import Image, ImageFilter
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from models.core.use_config import AlignConfig
from models.engines.captioner import Caption, Captioner, words
from models.search.batching import pad, teacher_forcing_batch
from models.text.tokenizer import END

SHARE = 0.2  # of the cells
REGIONS = 3  # regions of an image along each side
NEAR = 0.9  # share of the best head's score at which the mean of its layer is preferred
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


def choose_map_head(captioner: Captioner, images: Iterable[Image.Image]) -> AlignConfig:
    """Return the layer and head, or the mean of a layer's heads, with the highest score.

    images: squares that the captioner reads. The default if no word depends on the image.
    """
    layers, heads = captioner.model.decoder.attention_shape
    gained, total = torch.zeros(layers, 1 + heads), 0.0
    for image in images:
        greedy = dataclasses.replace(captioner.search, method="greedy")
        ids = captioner.caption([image], search=greedy)[0].hypotheses[0].ids
        if not words(captioner.tokenizer.pieces(ids)):
            continue
        # a word that becomes more probable does not depend on the region
        lost = region_losses(captioner, image, ids).clamp_min(0)  # (W, REGIONS, REGIONS)
        maps = every_map(captioner, image, ids)  # (L, 1 + H, W, rows, columns)
        weights = adaptive_avg_pool2d(maps.flatten(0, 2), REGIONS).view(
            *maps.shape[:3], *lost[0].shape
        )
        weights /= weights.sum((-1, -2), keepdim=True).clamp_min(1e-12)
        gained += (weights * lost).sum((-1, -2, -3))
        total += float(lost.sum())
    if not total:
        return AlignConfig()
    layer, head = divmod(int(gained.argmax()), 1 + heads)
    near = float(gained[layer, 0]) >= NEAR * float(gained.max())
    return AlignConfig(layer=layer + 1, head=0 if near else head)


def region_losses(captioner: Captioner, image: Image.Image, ids: Sequence[int]) -> Tensor:
    """Return what each word of a caption loses (W, REGIONS, REGIONS) if a region is blurred."""
    grid = torch.eye(REGIONS**2, dtype=torch.bool).view(-1, REGIONS, REGIONS)
    erased = [image, *(blurred(image, cells) for cells in grid)]
    found = token_log_probs(captioner, erased, ids)  # (1 + REGIONS^2, T)
    groups, lost = words(captioner.tokenizer.pieces(ids)), found[0] - found[1:]
    means = [lost[:, slice(*group)].mean(1) for group in groups]
    return torch.stack(means).view(-1, REGIONS, REGIONS)


@torch.inference_mode()
def every_map(captioner: Captioner, image: Image.Image, ids: Sequence[int]) -> Tensor:
    """Return the maps (L, 1 + H, W, rows, columns) of all heads; index 0 is the mean of a layer."""
    layers, _ = captioner.model.decoder.attention_shape
    heads = captioner.heads([image], [tuple(ids)], range(layers))[0]  # (L, H, T, S)
    both = torch.cat([heads.mean(1, keepdim=True), heads], 1)
    rows, columns = captioner.encoder.grid
    groups = words(captioner.tokenizer.pieces(ids))
    maps = torch.stack([both[:, :, slice(*group)].mean(2) for group in groups], 2)
    return maps[..., -rows * columns :].unflatten(-1, (rows, columns))


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
