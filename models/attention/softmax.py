"""Softmax of masked rows; the slot that stands for nothing; the earlier steps of an attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from models.core.types import AttentionOutput

LOWEST = -64.0  # lowest exponent; far lower ones, as those of hidden slots, take 7 times as long


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis where the mask is True; exactly 0 elsewhere.

    A row without any slot is all zeros, not NaN. Computed in fp32 for scores of any type.
    """
    lowest = torch.finfo(torch.float32).min
    # the lowest number and not -inf: a row without any slot would be NaN, and so would its gradient
    hidden = torch.zeros_like(mask, dtype=torch.float32).masked_fill_(~mask, lowest)
    # an addition needs no gradient of its own, which a masked copy of the scores does
    scores = scores.float() + hidden
    if scores.device.type != "cpu":
        return scores.softmax(-1) * mask
    return RowSoftmax.apply(scores, mask)  # type: ignore[no-untyped-call]


class RowSoftmax(torch.autograd.Function):
    """Softmax on a CPU for rows of any length, times a mask.

    PyTorch's softmax is six times slower for short rows whose length is not a multiple of 16; most
    sentences are such rows. Weights below exp(-64) of the greatest are rounded up to that, which
    no sum in fp32 shows.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, mask: Tensor) -> Tensor:
        """Return exp(score) / sum of exp(scores), with the row's highest score subtracted first."""
        # a row is not padded to a multiple of 16 before its maximum: a training step of
        # transformer-tiny takes 0.372 s without and 0.385 s with the padding
        powers = (scores - scores.amax(-1, keepdim=True)).clamp_min_(LOWEST).exp_()
        # the mask follows the clamp, which gives hidden slots a small weight above 0
        weights = powers.div_(powers.sum(-1, keepdim=True)).mul_(mask)
        # the weights alone suffice for the gradient, so the scores are not kept in memory
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """Return weights * (gradient - its mean under the weights)."""
        (weights,) = ctx.saved_tensors
        scaled = weights * grads[0]
        return scaled.addcmul_(weights, scaled.sum(-1, keepdim=True), value=-1), None


class NullSlot(nn.Module):
    """Slot 0, with a learned score b that is 0 at first, and a value of 0: attention to nothing.

    weights_i = exp(score_i) / (exp(b) + sum_j exp(score_j))       with softmax
                                          Xiao, Tian, Chen, Han and Lewis 2024, eq. 2, where b = 0

    The slot is added after the scores and removed after the read, so scores and windows count the
    real slots only. Without it, a step that needs nothing must put its weight on some slot.
    """

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Parameter(torch.zeros(1))  # b

    def added(
        self,
        scores: Tensor,
        values: Tensor,
        slots: Tensor,
        share: Tensor | None,
        sentinel: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Add the slot to scores (B, T, S), values (B, S, V), and slots (B, 1 or T, S) in a window.

        It is inside every window, with the factor 1 on its weight; share (B, T, S): those of the
        others. sentinel (B, T, 1): addition to its score.
        """
        own = self.score.to(scores.dtype).expand(*scores.shape[:2], 1)
        scores = torch.cat([own if sentinel is None else own + sentinel, scores], 2)
        share = None if share is None else pad(share, (1, 0), value=1.0)
        return scores, pad(values, (0, 0, 1, 0)), pad(slots, (1, 0), value=True), share

    def removed(self, attended: AttentionOutput) -> AttentionOutput:
        """Return a result without the slot's weight."""
        return attended._replace(weights=attended.weights[..., 1:])


class History(NamedTuple):
    """Earlier steps of one attention, in the decoder's state.

    It has one row per hypothesis, or (B, T) rows inside `forward`.
    """

    step: Tensor  # (R,) number of earlier queries
    previous: Tensor  # (R, S) the last weights; uniform before the first query
    total: Tensor  # (R, S) the sum of all weights so far
    random: Tensor  # (R,) random number of the sentence in [0, 1), plus the number of the head
    position: Tensor | None = None  # (R, S) slot that a monotonic normaliser starts from, as shares

    @classmethod
    def at(cls, step: Tensor, random: Tensor) -> History:
        """Return the histories of queries (B, T) that are computed at once.

        Earlier weights are unknown, so they have no slots.
        """
        unknown = step.new_zeros(*step.shape, 0)
        return cls(step, unknown, unknown, random)

    def map(self, change: Callable[[Tensor], Tensor]) -> History:
        """Return the history with a function applied to every part."""
        return History(*(None if part is None else change(part) for part in self))  # type: ignore

    def for_heads(self, count: int) -> History:
        """Return the histories of several heads, (.., H) and (.., H, S), from that of one.

        Each head adds its number to the random number, so that their samples are independent.
        """
        # whole numbers, because training reads the fraction of the random number alone
        heads = torch.arange(count, device=self.random.device)
        previous, total, position = (
            None if part is None else part.unsqueeze(-2).expand(*part.shape[:-1], count, -1)
            for part in (self.previous, self.total, self.position)
        )
        step = self.step.unsqueeze(-1).expand(*self.step.shape, count)
        assert previous is not None and total is not None
        return History(step, previous, total, self.random.unsqueeze(-1) + heads, position)

    def head(self, number: int) -> History:
        """Return the history (B, T, ..) of one head, from those of several."""
        return self.map(lambda part: part.select(2, number))

    def grouped(self, sentences: int) -> History:
        """Reshape rows (R, ..) to (B, T, ..): the hypotheses of a sentence become T queries."""
        return self.map(lambda part: part.unflatten(0, (sentences, -1)))

    def after(self, weights: Tensor, position: Tensor | None) -> History:
        """Add one query with weights and position (B, T, .., S), and flatten (B, T, ..) to rows."""
        parts = (self.step + 1, weights, self.total + weights, self.random, position)
        return History(*parts).map(lambda part: part.flatten(0, 1))


def grouped(history: History | None, query: Tensor) -> History | None:
    """Return a history for queries (B, T, Q): (B, T, ..).

    history: B * T rows, or B rows, each of which is that of T queries.
    """
    if history is None:
        return None
    sentences, queries, _ = query.shape
    if history.step.shape[0] == sentences * queries:
        return history.grouped(sentences)
    return history.map(lambda part: part.unsqueeze(1).expand(-1, queries, *part.shape[1:]))
