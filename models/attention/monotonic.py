"""Hard monotonic attention: a step stops at one slot, which is never before that of the last step.

Decoding: the first slot i from the last one on with p_ti > 1/2;  p_ti = sigmoid(score_ti + r)
Training: the expectation over stops that are sampled with p,
    a_ti = p_ti sum_{k <= i} a_(t-1)k prod_{k <= l < i} (1 - p_tl)
Raffel, Luong, Liu, Weiss, Eck 2017, eq. 8 and 9, algorithm 1
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from models.attention.base import MonotonicNormaliser
from models.config import AttentionConfig

FIRST_OFFSET = -1.0  # r: a step of an untrained model stops at each slot with probability 1/4


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
        scores = scores.float() + self.offset
        if self.training:
            return expected_stops(scores + torch.randn_like(scores), slots, position)
        reached = position.cumsum(-1) > 0  # from the last slot on
        possible = (scores > 0) & slots & reached
        return (possible & (possible.int().cumsum(-1) == 1)).float()


def expected_stops(scores: Tensor, slots: Tensor, position: Tensor) -> Tensor:
    """Return the probability (B, T, S) that a step stops at each slot.

    scores (B, T, S): logarithms of the odds. position (B, T, S): the same of the last step.
    """
    passed = logsigmoid(-scores).masked_fill(~slots, 0.0)  # log (1 - p)
    before = passed.cumsum(-1) - passed  # of all slots before each
    between = before.unsqueeze(-2) - before.unsqueeze(-1)  # (B, T, from, to)
    later = torch.ones_like(between, dtype=torch.bool).triu()
    walked = between.masked_fill(~later, -torch.inf).exp()  # product of (1 - p) from k to i - 1
    arrived = (position.unsqueeze(-2) @ walked).squeeze(-2)  # (B, T, S)
    return scores.sigmoid() * slots * arrived
