"""Attention weights of tokens under teacher forcing, and their pooling over units.

    W[j, i] = mean over tokens t of target unit j of sum over tokens s of source unit i of a[t, s]

A row is a distribution over the source units and the null unit. One step predicts a token, and the
next step reads it. A token has the row of the first step or, with a shift of 1, of the second.
Source: Clark et al. 2019, section 4.1 (tokens to words); Garg et al. 2019, section 3.2 (layer);
Chen et al. 2020, section 3.1 (shift).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.base.errors import ConfigurationError
from models.base.types import Batch
from models.config import AlignConfig
from models.decoders.base import Decoder, DecoderOutput
from models.families.encoder_decoder import EncoderDecoder
from models.losses.losses import sequence_loss
from models.text.units import Units


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
    found = model.teacher_force(batch, want_heads=(layer,))
    assert found.heads is not None
    heads = found.heads[:, 0].float()  # (B, H, T, S)
    weights = heads.mean(1) if head is None else heads[:, head]
    unscored = torch.full((len(weights),), math.nan)
    found_scores = scores(model, found, batch) if scored else unscored
    return shifted(weights, config.shift), found_scores


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


def shifted(weights: Tensor, shift: int) -> Tensor:
    """Return weights (.., T, S) by the step that reads each token; no step reads the end mark."""
    return torch.cat([weights[..., 1:, :], weights[..., :1, :] * 0], -2) if shift else weights


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
    null = (inside @ rows - table.sum(-1)).clamp_min(0)
    return UnitWeights(table, null)


def means(target: Units) -> Tensor:
    """Return the share (T, J) of each token in the mean of a unit's tokens."""
    return target.shares / target.shares.sum(0).clamp_min(1e-9)
