"""Hard attention: one slot is read, and which one is a draw.

context = value_s,  s ~ Categorical(weights)        Xu et al. 2015, section 4.1

The draw has no gradient: the score learns by REINFORCE (models.loss) from the log-probability of
the slot that was drawn.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.config import AttentionConfig
from models.errors import ModelError, unknown_name
from models.types import Attended

TINY = 1e-38
DECODES = ("argmax", "sample", "expectation")


class Hard(nn.Module):
    """Hard: one slot, drawn while training; the likeliest when in use.

    context = value_s, s ~ Categorical(weights)
    Source: Xu et al. 2015, section 4.1.
    Options: read_decode, read_soft.
    The weights handed on are those with which the values were read: 1 for the slot, 0 elsewhere.
    While training, log-probability and entropy of the draw come along, for REINFORCE. Half of the
    readings are the expectation then, which lowers the variance; the paper chooses them by image,
    here each is chosen for itself.
    """

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        if config.read_decode not in DECODES:
            raise unknown_name("attention.read_decode", config.read_decode, DECODES)
        if not 0 <= config.read_soft < 1:
            raise ModelError(f"attention.read_soft = {config.read_soft}", "at least 0 and below 1")
        self.decode, self.soft = config.read_decode, config.read_soft

    def forward(self, weights: Tensor, values: Tensor) -> Attended:
        """Context (B, T, V) from weights (B, T, S) and values (B, S, V)."""
        if self.training:
            return self._gamble(weights, values)
        if self.decode == "expectation":
            return self._read(weights, values)
        slots = drawn(weights) if self.decode == "sample" else weights.argmax(-1)
        return self._read(only(slots, weights), values)

    def _gamble(self, weights: Tensor, values: Tensor) -> Attended:
        slots = drawn(weights.detach())  # (B, T)
        soft = torch.rand_like(weights[..., 0]) < self.soft  # (B, T)
        mixed = torch.where(soft.unsqueeze(-1), weights, only(slots, weights))
        return self._read(mixed, values)._replace(
            log_prob=log_probability(weights, slots).masked_fill(soft, 0), entropy=entropy(weights)
        )

    def _read(self, weights: Tensor, values: Tensor) -> Attended:
        return Attended(weights.to(values.dtype) @ values, weights)


def drawn(weights: Tensor) -> Tensor:
    """One slot (B, T) of each row of weights (B, T, S), whatever they sum to, by inversion."""
    cumulative = weights.cumsum(-1)
    total = cumulative[..., -1:]
    place = torch.rand_like(total) * total
    first = (cumulative > place).int().argmax(-1)
    last = (cumulative < total).sum(-1).clamp_max(weights.shape[-1] - 1)
    # rounding can put the place at the total itself, which no slot exceeds
    return torch.where((place < total).squeeze(-1), first, last)


def only(slots: Tensor, weights: Tensor) -> Tensor:
    """Weights (B, T, S) of 1 at the slots (B, T); all zero where nothing was in view."""
    ones = torch.zeros_like(weights).scatter_(-1, slots.unsqueeze(-1), 1.0)
    return ones * (weights > 0).any(-1, keepdim=True)


def log_probability(weights: Tensor, slots: Tensor) -> Tensor:
    """Logarithm (B, T) of the slots' share of the weights; 0 where nothing was in view."""
    total = weights.sum(-1)
    weight = weights.gather(-1, slots.unsqueeze(-1)).squeeze(-1)
    safe = torch.where(weight > 0, weight, 1.0), torch.where(weight > 0, total, 1.0)
    return safe[0].log() - safe[1].log()


def entropy(weights: Tensor) -> Tensor:
    """Entropy (B, T) in nats of the shares of the weights, which may hold exact zeros."""
    shares = weights / weights.sum(-1, keepdim=True).clamp_min(TINY)
    return -(shares * shares.clamp_min(TINY).log()).sum(-1)
