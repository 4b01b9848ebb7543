"""Weights between the tokens of a given pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.core.errors import ConfigurationError
from models.core.types import Batch, Translation
from models.core.use_config import AlignConfig
from models.engines.translator import Translator
from models.networks.decoder import Decoder, DecoderOutput, Wanted, shifted
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.losses import sequence_loss
from models.search.batching import length_batches, pad_pairs
from models.text.lexicon import FoundForm
from models.text.normalise import (
    composed,
    with_apostrophes,
    with_single_spaces,
    with_straight_apostrophes,
)
from models.text.tokenizer import END, Tokenizer
from models.text.units import Units, units

ALL_HEADS = 4  # divisor of the batch size where the weights of all layers and heads are stored


class UnitWeights(NamedTuple):
    """Attention weights between the units of one pair."""

    weights: Tensor  # (.., J, I)
    null: Tensor  # (.., J) weight on no source unit, for example on the end mark


@torch.inference_mode()
def teacher_forced_weights(
    model: EncoderDecoder, batch: Batch, config: AlignConfig, *, scored: bool = True
) -> tuple[Tensor, Tensor]:
    """Return weights (B, T, S) of the configured layer and head, and each target's score (B,).

    A score is the mean log-probability of a token, end mark included. scored: False leaves out the
    scores, which take about half of the time: they are NaN.
    """
    layer, head = chosen(model.decoder, config)
    if scored:
        found = model.teacher_force(batch, want_heads=(layer,))
    else:
        # layers above the chosen one change no weight of it, and cost half of the time
        decoder = model.decoder.up_to(layer)
        prepared = decoder.prepare(model.encode_batch(batch))
        state = decoder.start(prepared)
        found = decoder.advance(batch.target_in, state, prepared, Wanted(heads=(layer,)))
    assert found.heads is not None
    # float32, because a mean of bf16 weights loses digits
    heads = found.heads[:, 0].float()  # (B, H, T, S)
    weights = heads.mean(1) if head is None else heads[:, head]
    unscored = torch.full((len(weights),), math.nan)
    return shifted(weights, config.shift), scores(model, found, batch) if scored else unscored


@torch.inference_mode()
def every_head(model: EncoderDecoder, batch: Batch, shift: int) -> Tensor:
    """Return the weights (B, L, H, T, S) of every layer and head."""
    layers, _ = attention_shape(model.decoder)
    heads = model.teacher_force(batch, want_heads=range(layers)).heads
    assert heads is not None
    return shifted(heads.float(), shift)


def attention_shape(decoder: Decoder[Any, Any]) -> tuple[int, int]:
    """Return the numbers of layers and heads; raise a ModelError if there is no attention."""
    if not decoder.attends:
        raise ConfigurationError(
            "a model without attention", "a model with attention", "use a family that has it"
        )
    return decoder.attention_shape


def chosen(decoder: Decoder[Any, Any], config: AlignConfig) -> tuple[int, int | None]:
    """Return layer and head, counted from 0; None as head for the mean of all.

    Raises ModelError for a layer or head that the model does not have.
    """
    layers, heads = attention_shape(decoder)
    for name, number, most in (("layer", config.layer, layers), ("head", config.head, heads)):
        if not 0 <= number <= most:
            raise ConfigurationError(
                f"{name} {number} of a model with {most}", f"1 to {most}, or 0 for the default"
            )
    if config.shift not in (0, 1):
        raise ConfigurationError(f"shift {config.shift}", "0 or 1")
    layer = config.layer - 1 if config.layer else decoder.shown_layer
    return layer, config.head - 1 if config.head else None


def scores(model: EncoderDecoder, found: DecoderOutput, batch: Batch) -> Tensor:
    """Return the mean log-probability (B,) of each target's tokens."""
    real = batch.target_mask
    nll = sequence_loss(found, batch, model.output).nll
    each = torch.zeros_like(real, dtype=nll.dtype)  # (B, T)
    each[real] = -nll
    return each.sum(1) / real.sum(1)


def pooled(weights: Tensor, source: Units, target: Units) -> UnitWeights:
    """Return the weights (.., J, I) of units from those of tokens (.., T, S), padding left out."""
    weights = weights[..., : len(target.shares), : len(source.shares)]
    by_source = weights @ source.shares  # (.., T, I)
    inside = weights.sum(-1)  # (.., T): 1, or less if a window excludes slots
    rows = means(target)
    table = rows.T @ by_source
    # rounding may leave a difference just below 0
    null = (inside @ rows - table.sum(-1)).clamp_min(0)
    return UnitWeights(table, null)


def means(target: Units) -> Tensor:
    """Return the share (T, J) of each token in the mean of a unit's tokens."""
    return target.shares / target.shares.sum(0).clamp_min(1e-9)


class Encoded(NamedTuple):
    """A sentence pair as text and as token ids."""

    source: list[int]
    target: list[int]
    source_text: str
    target_text: str
    entries: tuple[FoundForm, ...] = ()  # of the source text, that the model reads


def encode(translator: Translator, source: str, target: str) -> Encoded:
    """Return a pair of texts with the ids that the model takes, target-language token included.

    The source is prepared as `attn translate` prepares it; the target has straight apostrophes
    where the model needs fewer tokens for them. The returned texts have single spaces and composed
    accents too, but the apostrophes of the given ones. Their words, as `str.split` divides them,
    keep their numbers.
    """
    if translator.inputs:
        raise ConfigurationError(
            f"pairs of texts for a model of several inputs ({', '.join(translator.inputs)})",
            "a model of one text",
            "`attn translate --align` aligns the outputs of this model",
        )
    tokenizer = translator.tokenizer
    source = composed(with_single_spaces(source), translator.source_length)
    target = composed(with_single_spaces(target), lambda text: len(tokenizer.encode_target(text)))
    source_ids, entries = translator.read_with_entries(with_apostrophes(source, translator.prepare))
    # the form of fewer tokens is the one that the model has learned
    written = dict.fromkeys([target, with_straight_apostrophes(target)])
    target_ids = min((tokenizer.encode_target(t, translator.to) for t in written), key=len)
    return Encoded(source_ids, target_ids, source, target, entries)


def encoded_translation(translator: Translator, translation: Translation) -> Encoded:
    """Return the best output of a translation and its source, as the model read and wrote them."""
    source = translation.source
    ids, entries = translator.read_with_entries(source, translation.to, translation.language)
    return Encoded(ids, [*translation.hypotheses[0].ids, END], source, translation.text, entries)


def batched(
    translator: Translator, pairs: Sequence[Encoded], max_batch_tokens: int
) -> Iterable[list[int]]:
    """Return batches of the indices of pairs that can be aligned, grouped by length."""
    lengths = [
        0 if why_unaligned(translator, pair) else max(len(pair.source), len(pair.target))
        for pair in pairs
    ]
    return length_batches(lengths, max_tokens=max_batch_tokens)


def as_batch(translator: Translator, pairs: Sequence[Encoded]) -> Batch:
    """Return encoded pairs as a padded batch."""
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    images = translator.images([pair.source_text for pair in pairs])
    return pad_pairs(sources, targets, translator.device)._replace(images=images)


def both_units(tokenizer: Tokenizer, pair: Encoded, config: AlignConfig) -> tuple[Units, Units]:
    """Return the units of a pair's source and of its target."""
    of = partial(units, kind=config.units, marks=config.marks)
    return (
        of(tokenizer.source, pair.source, pair.source_text, entries=pair.entries),
        of(tokenizer.target, pair.target, pair.target_text),
    )


def why_unaligned(translator: Translator, pair: Encoded) -> str:
    """Return the reason why a pair cannot be aligned; empty if it can."""
    if not (pair.source_text.strip() and pair.target_text.strip()):
        return "an empty side"
    if len(pair.source) > translator.max_source_length:
        return f"{len(pair.source)} source tokens, at most {translator.max_source_length} allowed"
    return ""


class TokenAttention(NamedTuple):
    """The attention of every layer and head to the source tokens, for B sentence pairs."""

    source: tuple[tuple[str, ...], ...]  # tokens of each pair, end mark included
    target: tuple[tuple[str, ...], ...]
    weights: Tensor  # (B, L, H, T, S) of the step that predicts each token; 0 where padded

    def bertviz(self, number: int = 0) -> dict[str, Any]:
        """Return the arguments of `bertviz.model_view` and `head_view` for one pair."""
        source, target = self.source[number], self.target[number]
        weights = self.weights[number, :, :, : len(target), : len(source)]
        return {
            "cross_attention": [layer[None] for layer in weights],  # (1, H, T, S) each
            "encoder_tokens": list(source),
            "decoder_tokens": list(target),
        }


@torch.inference_mode()
def token_attention(translator: Translator, pairs: Iterable[tuple[str, str]]) -> TokenAttention:
    """Return the attention of every layer and head for sentence pairs, which are one batch."""
    encoded = [encode(translator, *pair) for pair in pairs]
    weights = every_head(translator.model, as_batch(translator, encoded), 0).cpu()
    sides = translator.tokenizer.source, translator.tokenizer.target
    source, target = (
        tuple(tuple(map(side.id_to_piece, map(int, pair[:2][place]))) for pair in encoded)
        for place, side in enumerate(sides)
    )
    return TokenAttention(source, target, weights)
