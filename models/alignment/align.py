"""Alignment of pairs by the attention of a model, and the choice of its head."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from itertools import accumulate, product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.alignment._links import Links, extract, mutual, symmetrise
from models.alignment.chain import smoothed
from models.alignment.weights import (
    ALL_HEADS,
    Encoded,
    as_batch,
    attention_shape,
    batched,
    both_units,
    encode,
    encoded_translation,
    every_head,
    means,
    pooled,
    teacher_forced_weights,
    why_unaligned,
)
from models.core.annexes import find_part
from models.core.config import MAX_BATCH_TOKENS
from models.core.errors import ConfigurationError
from models.core.types import Translation
from models.core.use_config import AlignConfig
from models.engines.translator import Translator
from models.text.alignment import Alignment
from models.text.languages import parse_direction
from models.text.tokenizer import END
from models.text.units import Units

NO_LINKS: Links = frozenset()
THRESHOLD = 0.45  # of transport, for the chosen head
NEAR = 0.9  # share of the best head's score at which the mean of its layer is preferred


def align(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    *,
    config: AlignConfig | None = None,
    reverse: Translator | None = None,
    max_batch_tokens: int = MAX_BATCH_TOKENS,
    scored: bool = True,
) -> list[Alignment]:
    """Align sources with their translations; return the alignments in order.

    config: settings; the default is the model's own. reverse: a model from target to source, whose
    links are symmetrised with those of this model. It uses the layer, head, shift and null
    threshold of its own settings, and the units and the extraction method of `config`.
    scored: False leaves out the scores, which take about half of the time.
    A pair with an empty side, or with a source that is too long for the model, has no links; its
    `note` gives the reason.
    """
    pairs = list(pairs)
    settings = config or translator.alignment
    forward, *back = directions(translator, settings)
    encoded = [encode(forward, *pair) for pair in pairs]
    found = align_encoded(forward, encoded, settings, max_batch_tokens, scored)
    if back and reverse is None:
        encoded = [encode(back[0], target, source) for source, target in pairs]
        # scores of the given direction alone are shown, and take about half of the time
        others = align_encoded(back[0], encoded, settings, max_batch_tokens, False)
        for number, (one, other) in enumerate(zip(found, others, strict=True)):
            note = one.note or other.note
            mean = one.weights if note else (one.weights + other.weights.T) / 2
            found[number] = one._replace(weights=mean, note=note)
    found = with_links(with_statistics(found, forward, settings), settings)
    if reverse is None:
        return found
    return bidirectional(found, pairs, reverse, settings, max_batch_tokens)


def directions(translator: Translator, config: AlignConfig) -> list[Translator]:
    """Return the model in the direction to align; and in the other, if `config` averages both.

    A model without a chosen target language aligns in the direction of `config.languages`.
    """
    if not config.languages:
        return [translator]
    source, target = parse_direction(config.languages)
    if translator.to not in ("", source, target):
        return [translator]
    if translator.to == source:
        source, target = target, source
    return [translator.for_direction(target, source), translator.for_direction(source, target)]


def with_links(found: Iterable[Alignment], config: AlignConfig) -> list[Alignment]:
    """Return alignments with the links of their weights; there are none if there is a note."""
    return [
        one
        if one.note or one.null is None
        else one._replace(links=extract(one.weights, one.null, config))
        for one in found
    ]


def with_statistics(
    found: list[Alignment], translator: Translator, config: AlignConfig
) -> list[Alignment]:
    """Return alignments whose weights contain the share of the statistical aligner, if any.

    translator: the model in the direction of the alignments.
    """
    aligner = statistical_aligner(translator, config)
    if aligner is None:
        return found
    hmm = find_part("aligner", "hmm")  # with which the tables were read
    tables = hmm.link_probabilities(aligner, [(one.source, one.target) for one in found])
    share = config.statistical
    return [
        one
        if one.note or table is None
        else one._replace(weights=(1 - share) * one.weights + share * table)
        for one, table in zip(found, tables, strict=True)
    ]


def statistical_aligner(translator: Translator, config: AlignConfig) -> Any:
    """Return the StatisticalTables in the direction of a model; None if they have no share.

    They link words, of the two languages that they were trained on. Raises ConfigurationError if
    the bundle has none.
    """
    # the tables link words, so they say nothing about characters or tokens
    if not config.statistical or config.units != "word":
        return None
    aligner = translator.statistical
    if aligner is None:
        raise ConfigurationError(
            f"alignment.statistical = {config.statistical:g}, but no statistical aligner",
            "a model made by `attn align train`",
            "set it to 0",
        )
    if not config.languages:
        return aligner
    source, target = parse_direction(config.languages)
    return {target: aligner, source: find_part("aligner", "hmm").turned(aligner)}.get(translator.to)


def align_translations(
    translator: Translator,
    translations: Iterable[Translation],
    *,
    config: AlignConfig | None = None,
    max_batch_tokens: int = MAX_BATCH_TOKENS,
    scored: bool = True,
) -> list[Alignment]:
    """Align the best output of each translation with its source; return the alignments in order.

    scored: False leaves out the scores, which take about half of the time.
    """
    encoded = [encoded_translation(translator, translation) for translation in translations]
    settings = config or translator.alignment
    found = align_encoded(translator, encoded, settings, max_batch_tokens, scored)
    return with_links(with_statistics(found, translator, settings), settings)


def align_encoded(
    translator: Translator,
    pairs: Sequence[Encoded],
    config: AlignConfig,
    max_batch_tokens: int,
    scored: bool = True,
) -> list[Alignment]:
    """Return the weights of encoded pairs, in order, still without links.

    The result of a pair does not depend on its batch.
    """
    attention_shape(translator.model.decoder)
    found: list[Alignment | None] = [None] * len(pairs)
    for batch in batched(translator, pairs, max_batch_tokens):
        chosen = [pairs[n] for n in batch]
        padded = as_batch(translator, chosen)
        weights, scores = teacher_forced_weights(translator.model, padded, config, scored=scored)
        cut = [both_units(translator.tokenizer, pair, config) for pair in chosen]
        for n, sides, rows, score in zip(batch, cut, weights.cpu(), scores.tolist(), strict=True):
            source, target = sides
            own, null = smoothed(pooled(rows, source, target), config.jump)
            aligned = Alignment(
                source.texts, target.texts, own, NO_LINKS, score, null, entries=source.entries
            )
            if translator.inputs:
                cells = rows[:, padded.source.shape[1] :]  # (T, C)
                aligned = by_input(aligned, translator.inputs, pairs[n], sides, cells)
            found[n] = aligned
    for n, pair in enumerate(pairs):
        if found[n] is None:
            source, target = both_units(translator.tokenizer, pair, config)
            shape, note = (len(target.texts), len(source.texts)), why_unaligned(translator, pair)
            zeros, null = torch.zeros(shape), torch.zeros(shape[0])
            found[n] = Alignment(source.texts, target.texts, zeros, NO_LINKS, 0.0, null, note=note)
    return [one for one in found if one is not None]


def head_weights(
    translator: Translator,
    pairs: Iterable[tuple[str, str] | Translation],
    *,
    config: AlignConfig | None = None,
    max_batch_tokens: int = MAX_BATCH_TOKENS,
) -> list[Tensor | None]:
    """Return the weights (L, H, J, I) of every layer and head; None for a pair without weights.

    pairs: pairs of texts, or translations, of which the best output is used.
    """
    settings = config or translator.alignment
    one_way = directions(translator, settings)[0]
    encoded = [
        encoded_translation(translator, pair)
        if isinstance(pair, Translation)
        else encode(one_way, *pair)
        for pair in pairs
    ]
    found: list[Tensor | None] = [None] * len(encoded)
    # the weights of all layers and heads take more memory than the computation
    for batch in batched(one_way, encoded, max_batch_tokens // ALL_HEADS):
        chosen = [encoded[n] for n in batch]
        weights = every_head(one_way.model, as_batch(one_way, chosen), settings.shift).cpu()
        for n, pair, rows in zip(batch, chosen, weights, strict=True):
            found[n] = pooled(rows, *both_units(one_way.tokenizer, pair, settings)).weights
    return found


def bidirectional(
    found: Sequence[Alignment],
    pairs: Sequence[tuple[str, str]],
    reverse: Translator,
    config: AlignConfig,
    max_batch_tokens: int,
) -> list[Alignment]:
    """Symmetrise alignments with those of a reverse model."""
    own = dataclasses.replace(
        reverse.alignment,
        units=config.units,
        marks=config.marks,
        extract=config.extract,
        threshold=config.threshold,
    )
    turned = [(target, source) for source, target in pairs]
    others = align(reverse, turned, config=own, max_batch_tokens=max_batch_tokens, scored=False)
    return [both_ways(one, other, config) for one, other in zip(found, others, strict=True)]


def both_ways(forward: Alignment, reverse: Alignment, config: AlignConfig) -> Alignment:
    """Return the forward alignment with the symmetrised links of both directions."""
    if note := forward.note or reverse.note:
        return forward._replace(links=NO_LINKS, note=note)
    if (forward.source, forward.target) != (reverse.target, reverse.source):
        raise ConfigurationError(
            "a reverse model that splits the text into other tokens",
            "the same units in both models",
            "align by word or char, or train both models with the same tokenizer",
        )
    turned = {(i, j) for j, i in reverse.links}
    return forward._replace(links=symmetrise(forward.links, turned, config.symmetrise))


def by_input(
    found: Alignment, names: Sequence[str], pair: Encoded, sides: tuple[Units, Units], cells: Tensor
) -> Alignment:
    """Return the alignment of a row of several inputs with the input of each source unit.

    names: of the inputs. cells (T, C): weights on the image; C is 0 if there is none.
    """
    source, target = sides
    ends = list(accumulate((number == END for number in pair.source), initial=0))
    first = source.shares.argmax(0).tolist()  # a token of each unit
    inputs = tuple(names[ends[token]] for token in first)
    image = means(target).T @ cells[: len(target.shares)] if cells.shape[1] else None
    return found._replace(inputs=inputs, cells=image)


class ScoredHead(NamedTuple):
    """Alignment settings that use one head, or the mean of a layer's heads."""

    config: AlignConfig
    score: float  # 0 to 1


def choose_head(translator: Translator, pairs: Iterable[tuple[str, str]]) -> AlignConfig:
    """Return the model's alignment settings with the layer, head and shift that align best.

    No gold links are needed. A weight is mutual if it is the largest of both its row and its
    column. A head that aligns gives most words a large mutual weight; a head that attends to one
    slot, or to all slots alike, does not. A head is scored by (mutual weight) / (words of the
    longer side).

    Several aligning heads align better together. The mean of a layer's heads is therefore preferred
    to its best head if its score is at least NEAR times that of the best head.
    """
    scored = score_heads(translator, pairs)
    best = max(scored, key=lambda head: head.score)  # of equal ones, the first
    mean = dataclasses.replace(best.config, head=0)  # of the same layer, with the same shift
    # several aligning heads align better together than the best of them
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
        # no word is left out, or a head that attends to the end mark would gain
        null_threshold=1.0,
    )
    found = []
    # a decoder may attend to a word in the step that predicts it, or in the step that reads it
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
            # of the longer side, or a head that links few words would score as well as one that
            # links all
            words += max(each.shape[-2:])
    return weight / max(words, 1)
