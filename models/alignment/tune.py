"""Tuning of alignment settings: layer, head, shift and extraction method.

With gold links, settings are compared by their alignment error rate. Without gold, by the agreement
of two directions, or by the mutual weight of each head.

One pass of teacher forcing gives the weights of all heads of all layers; every setting is scored on
these weights. Of settings that are equally good, the first one tried wins, which is the simplest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from models.alignment.align import (
    ALL_HEADS,
    align,
    as_batch,
    batched,
    both_units,
    directions,
    encode,
    real,
    statistical_aligner,
)
from models.alignment.chain import smoothed
from models.alignment.links import EXTRACTS, THRESHOLDED, least, mutual, strengths
from models.alignment.score import GoldLinks
from models.alignment.statistical import link_probabilities, mixed
from models.alignment.weights import UnitWeights, attention_shape, every_head, pooled, shifted
from models.config import MAX_BATCH_TOKENS, AlignConfig
from models.errors import InputError
from models.inference.translator import Translator

THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
SHARP = 0.45  # threshold of transport for a head that is chosen by its mutual weight
NEAR = 0.9  # share of the best head's mutual weight at which the mean of a layer is preferred
NULL_THRESHOLDS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)


class Trial(NamedTuple):
    """A setting and its error."""

    config: AlignConfig
    error_rate: float  # 0 to 1


class Extraction(NamedTuple):
    """Settings that are tried for every layer, head and null threshold: one row of `counts`."""

    shift: int
    marks: bool
    extract: str
    threshold: float


def tune(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    gold: Iterable[GoldLinks],
    *,
    max_batch_tokens: int = MAX_BATCH_TOKENS,
) -> AlignConfig:
    """Return the best settings for word links on gold; other settings are the model's own."""
    return trials(translator, pairs, gold, max_batch_tokens=max_batch_tokens)[0].config


def trials(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    gold: Iterable[GoldLinks],
    *,
    max_batch_tokens: int = MAX_BATCH_TOKENS,
) -> list[Trial]:
    """Compute the error rate of every setting on gold links; return the best first."""
    pairs, gold = list(pairs), list(gold)
    if len(pairs) != len(gold) or not any(links.sure for links in gold):
        raise InputError(
            f"{len(pairs)} pairs and gold links of {sum(bool(g.sure) for g in gold)}",
            "sure links for every pair",
        )
    layers, heads = attention_shape(translator.model.decoder)
    settings = list(extractions())
    count = torch.zeros(2, len(settings), len(NULL_THRESHOLDS), layers, heads + 1)
    for weights_by, links in tuning_weights(translator, pairs, gold, max_batch_tokens):
        count += counts(weights_by, links, settings)
    sure = sum(len(links.sure) for links in gold)
    rates = (1 - count[0] / (count[1] + sure)).tolist()  # (W, N, L, 1 + H)
    tried = [
        Trial(_config(translator, setting, null, layer, head), rates[n][m][layer][head])
        for (m, null), (n, setting) in product(enumerate(NULL_THRESHOLDS), enumerate(settings))
        for layer, head in product(range(layers), range(heads + 1))
        if head == 0 or heads > 1
    ]
    return sorted(tried, key=lambda trial: trial.error_rate)


def mutual_trials(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    *,
    max_batch_tokens: int = MAX_BATCH_TOKENS,
) -> list[Trial]:
    """Rank every layer, head and shift by its mutual weight, which needs no gold; best first.

    A weight is mutual if it is the largest of both its row and its column. A head that aligns has
    much mutual weight in most words; a head that attends to one slot, or to all slots alike, has
    little. The error is 1 - (mutual weight) / (words of the longer side). Several aligning heads
    align better together. The mean of a layer's heads is therefore preferred to the best head if
    its mutual weight is at least NEAR times that of the best head.
    """
    pairs = list(pairs)
    layers, heads = attention_shape(translator.model.decoder)
    nothing = [GoldLinks(frozenset())] * len(pairs)
    marks = translator.alignment.marks
    weight, words = torch.zeros(2, layers, heads + 1), 0
    for weights_by, _ in tuning_weights(translator, pairs, nothing, max_batch_tokens):
        for shift in (0, 1):
            weights = weights_by[shift, marks].weights  # (L, 1 + H, J, I)
            weight[shift] += mutual(weights).sum((-1, -2))
        words += max(weights.shape[-2:])
    rates = (1 - weight / max(words, 1)).tolist()
    settings = [Extraction(shift, marks, "transport", SHARP) for shift in (0, 1)]
    tried = [
        Trial(_config(translator, setting, 1.0, layer, head), rates[setting.shift][layer][head])
        for setting, layer, head in product(settings, range(layers), range(heads + 1))
        if head == 0 or heads > 1
    ]
    tried.sort(key=lambda trial: trial.error_rate)
    best, where = tried[0], (tried[0].config.layer, tried[0].config.shift)
    mean = next(t for t in tried if (t.config.layer, t.config.shift) == where and not t.config.head)
    if 1 - mean.error_rate >= NEAR * (1 - best.error_rate):
        tried.insert(0, tried.pop(tried.index(mean)))
    return tried


class Agreement(NamedTuple):
    """Trials of the last round of `agree`, for both directions; best first."""

    forward: list[Trial]
    reverse: list[Trial]


def agree(
    forward: Translator,
    reverse: Translator,
    pairs: Iterable[tuple[str, str]],
    *,
    rounds: int = 5,
    max_batch_tokens: int = MAX_BATCH_TOKENS,
) -> Agreement:
    """Choose settings without gold: the links of each direction serve as gold for the other.

    Two models make different mistakes, so links on which they agree are mostly right. This is
    alignment by agreement (Liang, Taskar and Klein 2006), applied to the choice of a head. The
    first round starts from the reverse model's own settings; the search ends after `rounds`
    rounds, or when a round changes nothing.
    """
    pairs = list(pairs)
    turned = [(target, source) for source, target in pairs]
    config = dataclasses.replace(reverse.alignment, units="word")
    for _ in range(rounds):
        gold = gold_from(reverse, turned, config)
        ahead = trials(forward, pairs, gold, max_batch_tokens=max_batch_tokens)
        gold = gold_from(forward, pairs, ahead[0].config)
        back = trials(reverse, turned, gold, max_batch_tokens=max_batch_tokens)
        if back[0].config == config:
            break
        config = back[0].config
    return Agreement(ahead, back)


def gold_from(
    translator: Translator, pairs: Sequence[tuple[str, str]], config: AlignConfig
) -> list[GoldLinks]:
    """Return the links of a model as gold links of the other direction."""
    found = align(translator, pairs, config=config)
    links = [frozenset((j, i) for i, j in one.links) for one in found]
    return [GoldLinks(turned, turned) for turned in links]


def extractions() -> Iterator[Extraction]:
    """Yield the settings to try, the simplest first."""
    for shift, marks, name in product((0, 1), (False, True), EXTRACTS):
        for threshold in THRESHOLDS if name in THRESHOLDED else (AlignConfig.threshold,):
            yield Extraction(shift, marks, name, threshold)


def tuning_weights(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    gold: Sequence[GoldLinks],
    max_batch_tokens: int,
) -> Iterator[tuple[dict[tuple[int, bool], UnitWeights], GoldLinks]]:
    """Yield the weights (L, 1 + H, J, I) of each pair by shift and marks, and its gold links.

    Index 0 of the heads is their mean. The statistical aligner has the share of the model's own
    settings in all weights.
    """
    config = dataclasses.replace(translator.alignment, units="word")
    ways = directions(translator, config)
    aligner = statistical_aligner(ways[0], config)
    tables = aligner and link_probabilities(aligner, [(a.split(), b.split()) for a, b in pairs])
    for n, weights_by in weights_of_ways(ways, pairs, max_batch_tokens):
        table = tables[n] if tables else None
        if table is not None:
            weights_by = {
                key: found._replace(weights=mixed(found.weights, table, config.statistical))
                for key, found in weights_by.items()
            }
        yield weights_by, gold[n]


def weights_of_ways(
    ways: Sequence[Translator], pairs: Sequence[tuple[str, str]], max_batch_tokens: int
) -> Iterator[tuple[int, dict[tuple[int, bool], UnitWeights]]]:
    """Yield the number of each pair and its weights, the mean of the directions in `ways`."""
    if len(ways) == 1:
        yield from weights_of_pairs(ways[0], pairs, max_batch_tokens)
        return
    turned = [(target, source) for source, target in pairs]
    back = dict(weights_of_pairs(ways[1], turned, max_batch_tokens))
    for n, weights_by in weights_of_pairs(ways[0], pairs, max_batch_tokens):
        if n in back:
            yield n, {key: mean(found, back[n][key]) for key, found in weights_by.items()}


def mean(forward: UnitWeights, reverse: UnitWeights) -> UnitWeights:
    """Return the mean of the weights of two directions, with the null weights of the first."""
    return forward._replace(weights=(forward.weights + reverse.weights.mT) / 2)


def weights_of_pairs(
    translator: Translator, pairs: Sequence[tuple[str, str]], max_batch_tokens: int
) -> Iterator[tuple[int, dict[tuple[int, bool], UnitWeights]]]:
    """Yield the number of each pair, and its weights (L, 1 + H, J, I) by shift and marks."""
    encoded = [encode(translator, *pair) for pair in pairs]
    config = dataclasses.replace(translator.alignment, units="word")
    for batch in batched(translator, encoded, max_batch_tokens // ALL_HEADS):
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


def counts(
    weights_by: dict[tuple[int, bool], UnitWeights], gold: GoldLinks, settings: Sequence[Extraction]
) -> Tensor:
    """Count |A & S| + |A & P|, and |A|, for every setting and null threshold.

    The result is (2, W, N, L, 1 + H): W settings, N null thresholds.
    """
    shape = next(iter(weights_by.values())).weights.shape[-2:]
    worth = link_table(gold.sure, shape) + link_table(gold.sure | gold.possible, shape)  # (J, I)
    worths = torch.stack([worth, torch.ones_like(worth)])
    limits = torch.tensor(NULL_THRESHOLDS).view(-1, 1, 1, 1)
    known: dict[tuple[int, bool, str], Tensor] = {}
    rows = []
    for setting in settings:
        key = setting.shift, setting.marks, setting.extract
        weights, null = weights_by[setting.shift, setting.marks]
        if key not in known:
            known[key] = strengths(weights, setting.extract)
        linked = least(
            known[key], AlignConfig(extract=setting.extract, threshold=setting.threshold)
        )
        by_row = torch.einsum("lhji,cji->clhj", linked.float(), worths)
        rows.append(torch.einsum("clhj,nlhj->cnlh", by_row, (null <= limits).float()))
    return torch.stack(rows, 1)


def link_table(links: Iterable[tuple[int, int]], shape: Sequence[int]) -> Tensor:
    """Return a table (J, I) with 1 for each link; raise InputError for a link out of range."""
    table = torch.zeros(*shape)
    for i, j in links:
        if not (0 <= j < shape[0] and 0 <= i < shape[1]):
            raise InputError(
                f"gold link {i}-{j} of a pair with {shape[1]} and {shape[0]} words",
                "links between words of the pair, counted from 0",
            )
        table[j, i] = 1
    return table


def _config(
    translator: Translator, setting: Extraction, null: float, layer: int, head: int
) -> AlignConfig:
    return dataclasses.replace(
        translator.alignment,
        units="word",
        layer=layer + 1,
        head=head,
        null_threshold=null,
        **setting._asdict(),
    )
