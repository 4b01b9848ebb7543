"""The interface of what mixes the tokens of a Transformer's encoder or decoder, and its builder.

A mixing of all tokens has a cache of the prefix, which is a part of the decoder's state. Its length
is that of a tensor, so that a graph for other programs needs no number.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from models.base.errors import ConfigurationError
from models.base.registry import find
from models.config import AttentionConfig, ModelConfig

DEFAULT = "attention"


class Cache(Protocol):
    """What a mixing keeps of the prefix: tensors with one row per hypothesis."""

    @property
    def length(self) -> int:
        """Number of tokens of the prefix."""


class Sums(NamedTuple):
    """Cache of a fixed size: sums over the tokens of the prefix."""

    parts: tuple[Tensor, ...]  # (B, ..) each, in float32
    read: Tensor  # (B, t) ones: one per token of the prefix

    @property
    def length(self) -> int:
        """Number of tokens of the prefix."""
        return self.read.shape[1]

    def after(self, parts: tuple[Tensor, ...], steps: int) -> Sums:
        """Return these sums after more tokens."""
        new = self.read.new_ones(self.read.shape[0], steps)
        return Sums(parts, torch.cat([self.read, new], 1))


def mixing(config: ModelConfig, *, decodes: bool) -> nn.Module:
    """Build what mixes the tokens of a layer of the encoder, or of the decoder if it decodes.

    Raises ConfigurationError for settings of model.self_attention or positions that it cannot read.
    """
    kind = find("mixing", config.mixing)
    if config.mixing == DEFAULT or (kind.decodes_only and not decodes):
        kind = find("mixing", DEFAULT)
        return kind(config)
    if find("position", config.position).in_attention:
        raise ConfigurationError(
            f"model.position={config.position} with model.mixing={config.mixing}, which has no "
            "scores of pairs of tokens",
            "model.position=sinusoidal or learned",
        )
    if not kind.decodes_only and config.self_attention != AttentionConfig():
        raise ConfigurationError(
            f"settings of model.self_attention with model.mixing={config.mixing}, which has its "
            "own score",
            "the defaults of model.self_attention",
            "or model.mixing=attention",
        )
    return kind(config)
