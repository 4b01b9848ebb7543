"""Attention(query, keys, values) = Read(Normalise(Window(Score(query, keys))), values).

Four parts, each chosen by name at construction. A score sees no mask and keeps no state; masking
happens here and nowhere else, so padded slots weigh exactly zero for every variant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from models.config import AttentionConfig
from models.registry import find
from models.types import Attended, Memory


class Score(nn.Module):
    """F(query, key): how well a slot answers a query, before any normalisation."""

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__()

    def prepare(self, values: Tensor) -> Tensor:
        """Keys (B, S, K) from the memory's values (B, S, V), computed once per source."""
        return values

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Scores (B, T, S) of queries (B, T, Q) against prepared keys (B, S, K)."""
        raise NotImplementedError


class Prepared(NamedTuple):
    """A memory made ready for one attention: what is computed once per source."""

    keys: Tensor  # (B, S, K)
    values: Tensor  # (B, S, V)
    mask: Tensor  # (B, S)

    def select(self, rows: Tensor) -> Prepared:
        """The prepared memory of some sentences."""
        return Prepared(*(part.index_select(0, rows) for part in self))


class Attention(nn.Module):
    """One question put to a memory: score, window, normalise, read."""

    def __init__(self, query_size: int, value_size: int, config: AttentionConfig) -> None:
        super().__init__()
        self.score: Score = find("score", config.score)(query_size, value_size, config)
        self.window = find("window", config.window)(query_size, config)
        self.normalise = find("normalise", config.normalise)()
        self.read = find("read", config.read)(config)

    def prepare(self, memory: Memory) -> Prepared:
        """Keys and values of a memory, once per source."""
        return Prepared(self.score.prepare(memory.values), memory.values, memory.mask)

    def forward(self, query: Tensor, prepared: Prepared) -> Attended:
        """Read the memory with queries (B, T, Q); weights (B, T, S) are zero on padding."""
        scores = self.score(query, prepared.keys)  # (B, T, S)
        in_view = self.window(query, prepared.mask)  # (B, T, S) or (B, 1, S)
        return self.read(self.normalise(scores, in_view), prepared.values)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis where the mask is True; exactly 0 elsewhere.

    A row with no slot in view is all zeros, not NaN. Computed in fp32 whatever the scores are.
    """
    lowest = torch.finfo(torch.float32).min
    hidden = torch.zeros_like(mask, dtype=torch.float32).masked_fill_(~mask, lowest)
    return softmax(scores.float() + hidden) * mask


def softmax(scores: Tensor) -> Tensor:
    """Softmax over the last axis."""
    return RowSoftmax.apply(scores) if scores.device.type == "cpu" else scores.softmax(-1)


class RowSoftmax(torch.autograd.Function):
    """Softmax on a CPU, row lengths as they come.

    PyTorch's own is six times slower where a row is short and no multiple of 16, as sentences are.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        """exp(score) / sum of exp(scores), from the row's highest score down."""
        powers = (scores - scores.amax(-1, keepdim=True)).exp_()
        weights = powers.div_(powers.sum(-1, keepdim=True))
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """weights * (gradient - its mean under the weights)."""
        (weights,) = ctx.saved_tensors
        scaled = weights * grads[0]
        return scaled.addcmul_(weights, scaled.sum(-1, keepdim=True), value=-1)
