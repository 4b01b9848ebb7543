"""Normalisers: from scores to weights that sum to 1."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, pad

from models.attention.base import MonotonicNormaliser
from models.attention.config import MoChAConfig
from models.attention.softmax import masked_softmax
from models.core.attention_config import AttentionConfig

OUTSIDE = -2.0  # a score this far below the largest one is never in the support
FIRST_OFFSET = -1.0  # r: a step of an untrained model stops at each slot with probability 1/4


class Softmax(nn.Module):
    """Softmax: exp of the scores over their sum.

    weights_i = exp(score_i) / sum_j exp(score_j)
    Source: Bahdanau, Cho, Bengio 2015, eq. 6.
    """

    def forward(self, scores: Tensor, in_window: Tensor) -> Tensor:
        """Compute weights (B, T, S); exactly zero for slots outside the window."""
        return masked_softmax(scores, in_window)


class Sparsemax(nn.Module):
    """Sparsemax: the projection onto the simplex; low scores have weight zero.

    weights_i = max(0, score_i - tau), tau such that they sum to 1
    Source: Martins, Astudillo 2016.
    """

    def forward(self, scores: Tensor, in_window: Tensor) -> Tensor:
        """Compute weights (B, T, S); exactly zero for slots outside the window."""
        return SparsemaxFunction.apply(shifted(scores, in_window)) * in_window  # type: ignore[no-untyped-call]


class SparsemaxFunction(torch.autograd.Function):
    """Sparsemax over the last axis; its Jacobian is that of a mean over the support.

    Exact, by sorting: the support is the longest prefix of the sorted scores with
    1 + k z_(k) > sum_{j<=k} z_(j).
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        """Compute the weights of finite scores."""
        ordered = scores.sort(-1, descending=True).values
        sums = ordered.cumsum(-1)
        count = torch.arange(1, scores.shape[-1] + 1, device=scores.device)
        # rounding may leave a row without support, whose place would be -1
        size = (1 + count * ordered > sums).sum(-1, keepdim=True).clamp_min(1)  # of the support
        threshold = (sums.gather(-1, size - 1) - 1) / size
        weights = (scores - threshold).clamp_min(0)
        ctx.save_for_backward(weights > 0)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """Return the gradient minus its mean over the support; zero outside."""
        (support,) = ctx.saved_tensors
        mean = (grads[0] * support).sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return (grads[0] - mean) * support


def shifted(scores: Tensor, in_window: Tensor) -> Tensor:
    """Shift scores so that the largest in the window is 0; clamp at OUTSIDE; fp32 or wider."""
    full = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
    # finite, because sums of -inf give NaN in the search for the threshold
    full = full.masked_fill(~in_window, torch.finfo(full.dtype).min)
    # the largest score is detached, because adding a constant to all scores changes no weight
    return (full - full.detach().amax(-1, keepdim=True)).clamp_min(OUTSIDE)


class Entmax15(nn.Module):
    """1.5-entmax: between softmax and sparsemax; low scores have weight zero.

    weights_i = max(0, score_i / 2 - tau)^2, tau such that they sum to 1
    Source: Peters, Niculae, Martins 2019.
    """

    def forward(self, scores: Tensor, in_window: Tensor) -> Tensor:
        """Compute weights (B, T, S); exactly zero for slots outside the window."""
        return Entmax15Function.apply(shifted(scores / 2, in_window)) * in_window  # type: ignore[no-untyped-call]


class Entmax15Function(torch.autograd.Function):
    """1.5-entmax over the last axis, of halved scores.

    Exact, by sorting: of the k largest z / 2, with mean M and mean square Q,
    tau(k) = M - sqrt(1 / k - (Q - M^2)); the support is the longest prefix with
    tau(k) <= z_(k) / 2.
    """

    @staticmethod
    def forward(ctx: Any, halves: Tensor) -> Tensor:
        """Compute the weights of finite halved scores."""
        ordered = halves.sort(-1, descending=True).values
        count = torch.arange(1, halves.shape[-1] + 1, device=halves.device, dtype=halves.dtype)
        mean = ordered.cumsum(-1) / count
        # rounding can make the root's argument negative, so it is clamped below
        spread = ordered.square().cumsum(-1) / count - mean.square()
        thresholds = mean - (1 / count - spread).clamp_min(0).sqrt()
        size = (thresholds <= ordered).sum(-1, keepdim=True).clamp_min(1)  # of the support
        roots = (halves - thresholds.gather(-1, size - 1)).clamp_min(0)
        ctx.save_for_backward(roots)
        return roots.square()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """Return 2 r (g - mean of g under r), with gradient g and r = sqrt(weights)."""
        (roots,) = ctx.saved_tensors
        mean = (grads[0] * roots).sum(-1, keepdim=True) / roots.sum(-1, keepdim=True)
        return 2 * roots * (grads[0] - mean)


class Monotonic(MonotonicNormaliser):
    """Monotonic (hard): one slot for each step, and no step goes back; for a recurrent decoder.

    weight_i = 1 for the first slot i from the last one on with sigmoid(score_i + r) > 1/2, else 0
    Source: Raffel, Luong, Liu, Weiss, Eck 2017, eq. 8 and 9, algorithm 1.
    Training computes the expectation; noise of variance 1 on the scores makes p almost 0 or 1, so
    that decoding, which uses the threshold, does not differ much. A step that stops at no slot has
    weights of 0, and so have all later steps. The paper's quotient of cumulative products
    underflows on long sources, so the products are computed for each pair of slots.
    """

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        self.offset = nn.Parameter(torch.tensor(FIRST_OFFSET))  # r

    def forward(
        self, scores: Tensor, slots: Tensor, position: Tensor, chunk_scores: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return weights and the new position (B, T, S), which are equal."""
        stopped = self.stopped(scores, slots, position)
        return stopped, stopped

    def stopped(self, scores: Tensor, slots: Tensor, position: Tensor) -> Tensor:
        """Return the share (B, T, S) of each slot in the stops; one slot, if not in training."""
        # float32, because sums of many logarithms lose their digits in bf16
        scores = scores.float() + self.offset
        if self.training:
            return expected_stops(scores + torch.randn_like(scores), slots, position)
        # a step without a stop leaves a position of zeros, from which no later step moves on
        reached = position.cumsum(-1) > 0  # from the last slot on
        possible = (scores > 0) & slots & reached
        return (possible & (possible.int().cumsum(-1) == 1)).float()


def expected_stops(scores: Tensor, slots: Tensor, position: Tensor) -> Tensor:
    """Return the probability (B, T, S) that a step stops at each slot.

    a_ti = p_ti sum_{k <= i} a_(t-1)k prod_{k <= l < i} (1 - p_tl)

    scores (B, T, S): logarithms of the odds. position (B, T, S): the same of the last step.
    """
    # sums of logarithms: the paper's quotient of cumulative products divides by 0 on long sources
    passed = logsigmoid(-scores).masked_fill(~slots, 0.0)  # log (1 - p)
    before = passed.cumsum(-1) - passed  # of all slots before each
    between = before.unsqueeze(-2) - before.unsqueeze(-1)  # (B, T, from, to)
    later = torch.ones_like(between, dtype=torch.bool).triu()
    # masked before exp, because a difference in the other direction is positive and can overflow
    walked = between.masked_fill(~later, -torch.inf).exp()  # product of (1 - p) from k to i - 1
    arrived = (position.unsqueeze(-2) @ walked).squeeze(-2)  # (B, T, S)
    return scores.sigmoid() * slots * arrived


class MoChA(Monotonic):
    """MoChA: softmax over the chunk of slots that ends at a monotonic stop; recurrent decoders.

    weight_i = exp(u_i) / sum_(l in chunk) exp(u_l) for the w slots i that end at the stop
    Source: Chiu, Raffel 2018, eq. 13.
    u is a second score of the kind model.attention.score with its own parameters; scores without
    parameters, such as dot, make both equal. A chunk of 1 slot is normalise=monotonic.
    """

    needs_chunk_scores = True

    def __init__(self, config: MoChAConfig) -> None:
        super().__init__(config)
        self.chunk = config.chunk

    def forward(
        self, scores: Tensor, slots: Tensor, position: Tensor, chunk_scores: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return weights and the new position (B, T, S)."""
        assert chunk_scores is not None
        stopped = self.stopped(scores, slots, position)
        inside = slots.expand(stopped.shape)
        before = self.chunk - 1  # slots of a chunk before its last
        chunks = pad(chunk_scores, (before, 0)).unfold(-1, self.chunk, 1)  # (B, T, S, w)
        real = pad(inside, (before, 0), value=False).unfold(-1, self.chunk, 1)
        shares = masked_softmax(chunks, real) * stopped.unsqueeze(-1)
        return summed(shares), stopped


def summed(shares: Tensor) -> Tensor:
    """Return weights (B, T, S) of shares (B, T, S, w): those of the w slots that end at a slot.

    b_ti = sum_{k = i}^{i + w - 1} a_tk exp(u_ti) / sum_{l = k - w + 1}^{k} exp(u_tl)
    """
    size, width = shares.shape[-2:]
    total = shares.new_zeros(*shares.shape[:-2], size + width - 1)
    for place in range(width):
        total = total + pad(shares[..., place], (place, width - 1 - place))
    return total[..., width - 1 :]
