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

from models.alignment.align import align
from models.alignment.links import EXTRACTS, THRESHOLDED, least, mutual, strengths
from models.alignment.score import GoldLinks
from models.alignment.tuning_weights import tuning_weights
from models.alignment.weights import UnitWeights, attention_shape
from models.base.errors import InputError
from models.config.tables import AlignConfig
from models.inference.translator import Translator

THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
SHARP = 0.45  # threshold of transport for a head that is chosen by its mutual weight
NEAR = 0.9  # share of the best head's mutual weight at which the mean of a layer is preferred
ROUNDS = 5  # of `agree`, at most
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
    translator: Translator, pairs: Iterable[tuple[str, str]], gold: Iterable[GoldLinks]
) -> AlignConfig:
    """Return the best settings for word links on gold; other settings are the model's own."""
    return trials(translator, pairs, gold)[0].config


def trials(
    translator: Translator, pairs: Iterable[tuple[str, str]], gold: Iterable[GoldLinks]
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
    for weights_by, links in tuning_weights(translator, pairs, gold):
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


def mutual_trials(translator: Translator, pairs: Iterable[tuple[str, str]]) -> list[Trial]:
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
    for weights_by, _ in tuning_weights(translator, pairs, nothing):
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


def agree(forward: Translator, reverse: Translator, pairs: Iterable[tuple[str, str]]) -> Agreement:
    """Choose settings without gold: the links of each direction serve as gold for the other.

    Two models make different mistakes, so links on which they agree are mostly right. This is
    alignment by agreement (Liang, Taskar and Klein 2006), applied to the choice of a head. The
    first round starts from the reverse model's own settings; the search ends after ROUNDS
    rounds, or when a round changes nothing.
    """
    pairs = list(pairs)
    turned = [(target, source) for source, target in pairs]
    config = dataclasses.replace(reverse.alignment, units="word")
    for _ in range(ROUNDS):
        gold = gold_from(reverse, turned, config)
        ahead = trials(forward, pairs, gold)
        gold = gold_from(forward, pairs, ahead[0].config)
        back = trials(reverse, turned, gold)
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
