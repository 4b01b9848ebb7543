"""Attention of a few queries on a processor, with plain operations.

A step of a search has one query per hypothesis. The fused kernel then spends most of its time on
fixed costs per row: two matrix products and a softmax take less than half of it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

MOST = 16  # queries per row, up to which this is faster than the fused kernel
FEWEST_PRODUCTS = 400  # per row; torch.bmm computes fewer with a plain loop, three times as slow
HIDDEN = torch.finfo(torch.float32).min  # added to a score, makes the weight 0
VECTOR = 16  # PyTorch's softmax is several times slower for rows shorter than a vector


class KeyValue(NamedTuple):
    """Projected keys and values, split into heads."""

    keys: Tensor  # (B, H, S, d)
    values: Tensor  # (B, H, S, d)
    bias: Tensor | None = None  # (B, H, 1 or T, S) added to the scores; HIDDEN hides a slot

    def select(self, rows: Tensor) -> KeyValue:
        """Return some rows, in the given order."""
        return KeyValue(*(None if part is None else part.index_select(0, rows) for part in self))  # type: ignore[arg-type]

    def followed_by(self, other: KeyValue) -> KeyValue:
        """Return these slots and then those of another, both without padding."""
        keys, values = (torch.cat(pair, 2) for pair in zip(self[:2], other[:2], strict=True))
        return KeyValue(keys, values)


def padding_bias(mask: Tensor, heads: int) -> Tensor:
    """Return (B, H, 1, S): 0 where a mask (B, S) is True; elsewhere so low that the weight is 0."""
    bias = torch.zeros_like(mask, dtype=torch.float32).masked_fill_(~mask, HIDDEN)
    return bias[:, None, None].repeat(1, heads, 1, 1)  # torch.baddbmm needs every head's


def suits(query: Tensor) -> bool:
    """Return True if `attend_few` is the faster one for queries (B, H, T, d)."""
    plain = not (torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"))
    return plain and query.device.type == "cpu" and query.shape[2] <= MOST


def attend_few(query: Tensor, memory: KeyValue) -> Tensor:
    """Return contexts (B, H, T, d) of queries (B, H, T, d)."""
    scale, heads = query.shape[3] ** -0.5, query.shape[1]
    queries, keys, values = (x.flatten(0, 1) for x in (query, memory.keys, memory.values))
    if memory.bias is None:  # the first argument is then not read
        scores = torch.baddbmm(queries[:, :, :1], queries, keys.mT, beta=0, alpha=scale)
    else:
        scores = torch.baddbmm(memory.bias.flatten(0, 1), queries, keys.mT, alpha=scale)
    contexts: Tensor = weighted_sums(softmax_(scores), values).unflatten(0, (-1, heads))
    return contexts


def weighted_sums(weights: Tensor, values: Tensor) -> Tensor:
    """Return the sums (N, T, d) of values (N, S, d) with weights (N, T, S)."""
    if weights.shape[1] == 1 and values.shape[1] * values.shape[2] < FEWEST_PRODUCTS:
        return (weights.mT * values).sum(1, keepdim=True)
    return torch.bmm(weights, values)


def softmax_(scores: Tensor) -> Tensor:
    """Return the softmax over the last axis; the scores may be overwritten."""
    if scores.shape[-1] >= VECTOR:
        return scores.softmax(-1)
    powers = scores.sub_(scores.amax(-1, keepdim=True)).exp_()
    return powers.div_(powers.sum(-1, keepdim=True))
