"""Choice of the attention head that aligns best, without gold links.

A weight is mutual if it is the largest of both its row and its column. A head that aligns gives
most words a large mutual weight; a head that attends to one slot, or to all slots alike, does not.
A head is scored by (mutual weight) / (words of the longer side).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

import torch

from models.alignment.align import head_weights
from models.alignment.links import mutual
from models.alignment.weights import attention_shape
from models.config import AlignConfig
from models.inference.translator import Translator

THRESHOLD = 0.45  # of transport, for the chosen head
NEAR = 0.9  # share of the best head's score at which the mean of its layer is preferred


class ScoredHead(NamedTuple):
    """Alignment settings that use one head, or the mean of a layer's heads."""

    config: AlignConfig
    score: float  # 0 to 1


def choose_head(translator: Translator, pairs: Iterable[tuple[str, str]]) -> AlignConfig:
    """Return the model's alignment settings with the layer, head and shift that align best.

    Several aligning heads align better together. The mean of a layer's heads is therefore preferred
    to its best head if its score is at least NEAR times that of the best head.
    """
    scored = score_heads(translator, pairs)
    best = max(scored, key=lambda head: head.score)  # of equal ones, the first
    mean = dataclasses.replace(best.config, head=0)  # of the same layer, with the same shift
    near = dict(scored)[mean] >= NEAR * best.score
    return mean if near else best.config


def score_heads(translator: Translator, pairs: Iterable[tuple[str, str]]) -> list[ScoredHead]:
    """Return the score of every head, and of the mean of every layer, with shift 0 and 1."""
    pairs = list(pairs)
    layers, heads = attention_shape(translator.model.decoder)
    settings = dataclasses.replace(
        translator.alignment,
        units="word",
        extract="transport",
        threshold=THRESHOLD,
        null_threshold=1.0,
    )
    found = []
    for shift in (0, 1):
        config = dataclasses.replace(settings, shift=shift)
        scores = mutual_shares(translator, pairs, config).tolist()
        found += [
            ScoredHead(dataclasses.replace(config, layer=layer + 1, head=head), scores[layer][head])
            for layer, head in product(range(layers), range(heads + 1))
            if head == 0 or heads > 1
        ]
    return found


def mutual_shares(
    translator: Translator, pairs: list[tuple[str, str]], config: AlignConfig
) -> torch.Tensor:
    """Return the scores (L, 1 + H) of the heads with one shift; index 0 is the mean of a layer."""
    layers, heads = attention_shape(translator.model.decoder)
    weight, words = torch.zeros(layers, 1 + heads), 0
    for each in head_weights(translator, pairs, config=config):
        if each is not None:  # (L, H, J, I)
            weight += mutual(torch.cat([each.mean(1, keepdim=True), each], 1)).sum((-1, -2))
            words += max(each.shape[-2:])
    return weight / max(words, 1)
