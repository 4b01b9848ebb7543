"""Weights on which alignment settings are compared: every layer, head, shift and use of marks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import torch

from models.alignment.align import directions, statistical_aligner
from models.alignment.chain import smoothed
from models.alignment.encoded import ALL_HEADS, as_batch, batched, both_units, encode, real
from models.alignment.score import GoldLinks
from models.alignment.statistical import link_probabilities, mixed
from models.alignment.weights import UnitWeights, every_head, pooled, shifted
from models.config.tables import MAX_BATCH_TOKENS
from models.inference.translator import Translator


def tuning_weights(
    translator: Translator, pairs: Sequence[tuple[str, str]], gold: Sequence[GoldLinks]
) -> Iterator[tuple[dict[tuple[int, bool], UnitWeights], GoldLinks]]:
    """Yield the weights (L, 1 + H, J, I) of each pair by shift and marks, and its gold links.

    Index 0 of the heads is their mean. The statistical aligner has the share of the model's own
    settings in all weights.
    """
    config = dataclasses.replace(translator.alignment, units="word")
    ways = directions(translator, config)
    aligner = statistical_aligner(ways[0], config)
    tables = aligner and link_probabilities(aligner, [(a.split(), b.split()) for a, b in pairs])
    for n, weights_by in weights_of_ways(ways, pairs):
        table = tables[n] if tables else None
        if table is not None:
            weights_by = {
                key: found._replace(weights=mixed(found.weights, table, config.statistical))
                for key, found in weights_by.items()
            }
        yield weights_by, gold[n]


def weights_of_ways(
    ways: Sequence[Translator], pairs: Sequence[tuple[str, str]]
) -> Iterator[tuple[int, dict[tuple[int, bool], UnitWeights]]]:
    """Yield the number of each pair and its weights, the mean of the directions in `ways`."""
    if len(ways) == 1:
        yield from weights_of_pairs(ways[0], pairs)
        return
    turned = [(target, source) for source, target in pairs]
    back = dict(weights_of_pairs(ways[1], turned))
    for n, weights_by in weights_of_pairs(ways[0], pairs):
        if n in back:
            yield n, {key: mean(found, back[n][key]) for key, found in weights_by.items()}


def mean(forward: UnitWeights, reverse: UnitWeights) -> UnitWeights:
    """Return the mean of the weights of two directions, with the null weights of the first."""
    return forward._replace(weights=(forward.weights + reverse.weights.mT) / 2)


def weights_of_pairs(
    translator: Translator, pairs: Sequence[tuple[str, str]]
) -> Iterator[tuple[int, dict[tuple[int, bool], UnitWeights]]]:
    """Yield the number of each pair, and its weights (L, 1 + H, J, I) by shift and marks."""
    encoded = [encode(translator, *pair) for pair in pairs]
    config = dataclasses.replace(translator.alignment, units="word")
    for batch in batched(translator, encoded, MAX_BATCH_TOKENS // ALL_HEADS):
        chosen = [encoded[n] for n in batch]
        weights = every_head(translator.model, as_batch(translator, chosen), 0).cpu()
        for n, rows in zip(batch, weights, strict=True):
            each = torch.cat([rows.mean(1, keepdim=True), rows], 1)  # (L, 1 + H, T, S)
            weights_by = {}
            for marks in (False, True):
                sides = both_units(
                    translator.tokenizer, encoded[n], dataclasses.replace(config, marks=marks)
                )
                for shift in (0, 1):
                    found = pooled(shifted(real(each, *sides), shift), *sides)
                    weights_by[shift, marks] = smoothed(found, config.jump)
            yield n, weights_by
