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
FAST_SELECTION = 64  # values per selected one, from which on torch.topk takes its fast algorithm


class TopTokens(NamedTuple):
    """Best continuations of each sentence, best first."""

    log_probs: Tensor  # (B, k) of the whole hypothesis
    rows: Tensor  # (B, k) which of the sentence's K hypotheses is continued
    tokens: Tensor  # (B, k)


class BlockedLogits(NamedTuple):
    """Logits of R hypotheses, with the greatest logit of each block of N."""

    logits: Tensor  # (R, Y)
    maxima: Tensor  # (R, N)

    @classmethod
    def of(cls, logits: Tensor) -> BlockedLogits:
        """Compute the maxima of logits (R, Y)."""
        full = logits.shape[1] // BLOCK * BLOCK
        maxima = [logits[:, :full].unflatten(1, (-1, BLOCK)).amax(-1)] if full else []
        if full < logits.shape[1]:
            maxima.append(logits[:, full:].amax(1, keepdim=True))
        return cls(logits, torch.cat(maxima, 1) if len(maxima) > 1 else maxima[0])

    @property
    def peaks(self) -> Tensor:
        """The greatest logit (R,) of each row."""
        return self.maxima.amax(1)

    def exclude_first_(self, count: int) -> None:
        """Set the logits of the first `count` tokens to -inf, in place."""
        self.logits[:, :count].fill_(-torch.inf)  # a list of ids would be copied to the device
        self.maxima[:, 0] = self.logits[:, :BLOCK].amax(1)


def top_tokens(
    log_probs: Tensor, log_total: Tensor, blocked: BlockedLogits, count: int
) -> TopTokens:
    """Return the best `count` continuations of each sentence.

    log_probs (B, K): of the hypotheses. blocked: logits of the next token after B * K hypotheses.
    log_total (B, K): the logarithm of their sum of exponentials, which only the best ones need.
    """
    (sentences, beam), vocabulary = log_probs.shape, blocked.logits.shape[1]
    size = min(BLOCK, vocabulary)
    blocks = blocked.maxima.shape[1]
    maxima = blocked.maxima.view(sentences, beam, blocks) - log_total[:, :, None]
    maxima = log_probs[:, :, None] + maxima  # (B, K, N), of whole hypotheses
    highest, best = greatest(maxima.flatten(1), min(count, beam * blocks))  # (B, n)
    rows, offsets = best // blocks, best % blocks * BLOCK
    starts = offsets.clamp_max(vocabulary - size)  # the last block overlaps the one before
    tokens = starts[:, :, None] + torch.arange(size, device=best.device)  # (B, n, size)
    first = torch.arange(0, sentences * beam, beam, device=best.device)[:, None]
    places = (first + rows) * vocabulary + starts
    chosen = consecutive(blocked.logits, size, places) - log_total.gather(1, rows)[:, :, None]
    before = log_probs.gather(1, rows).masked_fill(highest == -torch.inf, -torch.inf)
    sums = before[:, :, None] + chosen
    if vocabulary % BLOCK:
        sums = sums.masked_fill(tokens < offsets[:, :, None], -torch.inf)
    found, order = greatest(sums.flatten(1), count)  # (B, k)
    return TopTokens(found, rows.gather(1, order // size), tokens.flatten(1).gather(1, order))


def consecutive(values: Tensor, size: int, places: Tensor) -> Tensor:
    """Return (B, n, size): the next `size` elements from each place (B, n).

    values: contiguous. A place is the number of an element.
    """
    every = values.flatten().unfold(0, size, 1)  # a view, of which whole rows are copied
    return every.index_select(0, places.flatten()).view(*places.shape, size)


def greatest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` greatest values of each row (B, n), at most n, and their indices.

    Where a value is -inf, its index can be that of another. Rows are padded for torch.topk, which
    takes several times as long for slightly shorter ones.
    """
    length = values.shape[1]
    missing = FAST_SELECTION * count - length
    if 0 < missing < length:
        values = torch.nn.functional.pad(values, (0, missing), value=-torch.inf)
    found, indices = values.topk(count)
    return found, indices.clamp_max(length - 1)
