"""Exact top-k of the continuations of several hypotheses, by blocks of the vocabulary.

The k greatest of all values are in the k blocks with the greatest maxima, because each of these
blocks holds a value at least as great as any value of another block. A maximum reads the vocabulary
once, in order; a general selection over the whole vocabulary takes several times as long.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

BLOCK = 64  # tokens; a multiple of the vector length of every processor


class TopTokens(NamedTuple):
    """Best continuations of each sentence, best first."""

    log_probs: Tensor  # (B, k) of the whole hypothesis
    rows: Tensor  # (B, k) which of the sentence's K hypotheses is continued
    tokens: Tensor  # (B, k)


def top_tokens(log_probs: Tensor, log_total: Tensor, step: Tensor, count: int) -> TopTokens:
    """Return the best `count` continuations of each sentence.

    log_probs (B, K): of the hypotheses. step (B, K, Y), log_total (B, K): logits of the next token,
    and the logarithm of their sum of exponentials, which only the best ones need.
    """
    sentences, beam, vocabulary = step.shape
    maxima = log_probs[:, :, None] + (block_maxima(step) - log_total[:, :, None])  # (B, K, N)
    blocks = maxima.shape[2]
    best = maxima.flatten(1).topk(min(count, beam * blocks)).indices  # (B, n)
    rows, starts = best // blocks, best % blocks * BLOCK
    tokens = starts[:, :, None] + torch.arange(BLOCK, device=step.device)  # (B, n, BLOCK)
    inside = tokens.clamp_max(vocabulary - 1)
    first = torch.arange(sentences, device=step.device)[:, None] * beam * vocabulary
    places = (first + rows * vocabulary)[:, :, None] + inside
    chosen = step.flatten()[places] - log_total.gather(1, rows)[:, :, None]
    sums = log_probs.gather(1, rows)[:, :, None] + chosen
    if vocabulary % BLOCK:
        sums = sums.masked_fill(tokens != inside, -torch.inf)
    found, order = sums.flatten(1).topk(count)  # (B, k)
    return TopTokens(found, rows.gather(1, order // BLOCK), inside.flatten(1).gather(1, order))


def block_maxima(values: Tensor) -> Tensor:
    """Return the maximum of each block of the last axis, (.., Y) to (.., N)."""
    full = values.shape[-1] // BLOCK * BLOCK
    maxima: Tensor = values[..., :full].unflatten(-1, (-1, BLOCK)).amax(-1)
    if full == values.shape[-1]:
        return maxima
    return torch.cat([maxima, values[..., full:].amax(-1, keepdim=True)], -1)
