"""Distribution of the next token that mixes the vocabulary with tokens of a memory.

p(y) = (1 - g) p_vocabulary(y) + g sum_{s: token_s = y} a_s        See et al. 2017, eq. 8 and 9

a is attention to slots that are tokens, g a gate between 0 and 1.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

NEVER = 1e-30  # lower bound of a probability before the logarithm
LOW = -1e9  # score of a slot that has no weight


class Copying(NamedTuple):
    """Gate and attention of a pointer to token slots."""

    gate: Tensor  # (R, T) between 0 and 1
    weights: Tensor  # (R, T, S)
    ids: Tensor  # (R, S) tokens of the slots

    def given(self, logits: Tensor, real: Tensor | None = None) -> Copying:
        """Return this object, because its gate does not depend on the vocabulary's logits."""
        return self

    def of(self, target: Tensor) -> Tensor:
        """Return the probability (R, T), gate included, that target tokens (R, T) are copied."""
        same = self.ids[:, None] == target[:, :, None]  # (R, T, S)
        return self.gate * (self.weights * same).sum(-1)

    def mixed(self, logits: Tensor) -> Tensor:
        """Return log-probabilities (R, T, Y) of the mixture, given the vocabulary's logits."""
        probabilities = (1 - self.gate).unsqueeze(-1) * logits.softmax(-1)
        copied = self.gate.unsqueeze(-1) * self.weights  # (R, T, S)
        places = self.ids[:, None].expand_as(copied)
        return probabilities.scatter_add(-1, places, copied).clamp_min(NEVER).log()


class JointCopying(NamedTuple):
    """Scores of token slots that share one softmax with the logits of the vocabulary."""

    scores: Tensor  # (R, T, S)
    ids: Tensor  # (R, S) tokens of the slots

    def given(self, logits: Tensor, real: Tensor | None = None) -> Copying:
        """Return the gate and the weights that follow from the vocabulary's logits.

        logits: (R, T, Y), or (N, Y) of the N steps that are True in real (R, T).
        """
        total = logits.logsumexp(-1)
        if real is not None:
            total = total.new_zeros(real.shape).masked_scatter(real, total)
        gate = (self.scores.logsumexp(-1) - total).sigmoid()
        return Copying(gate, self.scores.softmax(-1), self.ids)

    def mixed(self, logits: Tensor) -> Tensor:
        """Return log-probabilities (R, T, Y), given the vocabulary's logits."""
        return self.given(logits).mixed(logits)


def mixture_loss(
    logits: Tensor, target: Tensor, copied: tuple[Tensor, Tensor], smoothing: float
) -> tuple[Tensor, Tensor]:
    """Return the smoothed loss, summed, and the negative log-likelihood (N,) of N tokens.

    logits (N, Y) of the vocabulary, target (N,). copied: `Copying.of` the target and the gate, (N,)
    each. The vocabulary's distribution alone is smoothed.
    """
    log_probs = logits.log_softmax(-1)
    own = log_probs.gather(1, target[:, None]).squeeze(1)
    share, gate = copied
    nll = -torch.logaddexp((1 - gate).clamp_min(NEVER).log() + own, share.clamp_min(NEVER).log())
    return ((1 - smoothing) * nll - smoothing * log_probs.mean(1)).sum(), nll.detach()
