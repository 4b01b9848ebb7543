"""Chain of the states of a hidden Markov model of word alignment: the source words of target words.

    p(a_1..J | f) ~ prod_j p(a_j | a_{j-1}) p(f_j | a_j)                  Vogel et al. 1996, eq. 6

A target word without a source word has the null state, which keeps the position of the state before
(Och and Ney 2003, section 2.2.1).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from models.alignment.weights import UnitWeights

NULL = 0.1  # probability of a target word without source word
# word orders differ, so a long jump must stay possible
UNIFORM = 0.1  # share of every jump that is uniform
# with zeros, one word without weight would break the chain of the whole sentence
FLOOR = 1e-3  # smallest weight of a row, spread over its source units
TINY = 1e-30


class Posterior(NamedTuple):
    """Probabilities of the states of each target word, given whole sentences."""

    links: Tensor  # (N, J, I)
    null: Tensor  # (N, J)
    jumps: Tensor  # (I, I) expected number of steps from a word to another


def forward_backward(links: Tensor, null: Tensor, steps: Tensor) -> Posterior:
    """Return the posterior of every state; each step is scaled to sum to 1.

    links (N, J, I): p(f_j | i); null (N, J): p(f_j) without source word; steps (1 + I, I):
    p(i | i'), in the first row that of the first word.
    """
    first, moves = steps[0], steps[1:]
    real, empty, scales = _forward(links, null, first, moves)
    posterior, absent = torch.empty_like(links), torch.empty_like(null)
    jumps = torch.zeros_like(moves)
    after = torch.ones_like(links[:, 0])  # (N, I): a real state and its null state are alike
    for j in range(links.shape[1] - 1, -1, -1):
        posterior[:, j] = real[j] * after
        absent[:, j] = (empty[j] * after).sum(1)
        if j:
            here = (1 - NULL) * links[:, j] * after / scales[j]  # (N, I)
            jumps += ((real[j - 1] + empty[j - 1]).T @ here) * moves
            after = here @ moves.T + NULL * null[:, j, None] * after / scales[j]
    return Posterior(posterior, absent, jumps)


def _forward(
    links: Tensor, null: Tensor, first: Tensor, moves: Tensor
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Return the scaled forward probabilities of real and of null states, and the scales."""
    real: list[Tensor] = []
    empty: list[Tensor] = []
    scales: list[Tensor] = []
    for j in range(links.shape[1]):
        before = real[-1] + empty[-1] if j else first
        reached = before @ moves if j else first
        state = (1 - NULL) * reached * links[:, j]  # (N, I)
        absent = NULL * before * null[:, j, None]
        # each step is scaled, because products over a sentence underflow
        scale = (state + absent).sum(1, keepdim=True).clamp_min(TINY)
        real.append(state / scale)
        empty.append(absent / scale)
        scales.append(scale)
    return real, empty, scales


def steps_of(preference: Tensor) -> Tensor:
    """Return p(i | i') (1 + I, I) from the preference for each step, of any scale."""
    shares = preference / preference.sum(1, keepdim=True)
    return (1 - UNIFORM) * shares + UNIFORM / preference.shape[1]


def widths(words: int) -> Tensor:
    """Return i - i' (1 + I, I) of each step; before the first word, i' is -1."""
    return torch.arange(words) - torch.arange(-1, words)[:, None]


def smoothed(found: UnitWeights, jump: float) -> UnitWeights:
    """Return the posterior of attention weights (.., J, I) under a preference for small jumps.

    They need no lexicon: with p(f_j | i) ~ w_ji, links are preferred whose neighbours are linked
    with neighbours, p(i | i') ~ exp(-jump |i - i' - 1|).

    jump: its strength; 0 returns the weights unchanged.
    """
    weights, null = found
    if not jump or not weights.numel():
        return found
    words = weights.shape[-1]
    steps = steps_of(torch.exp(-jump * (widths(words) - 1).abs()))
    links = weights.clamp_min(FLOOR / words) * words / (1 - NULL)
    flat = links.reshape(-1, *links.shape[-2:]), null.clamp_min(FLOOR).reshape(-1, null.shape[-1])
    posterior = forward_backward(flat[0], flat[1] / NULL, steps)
    return UnitWeights(posterior.links.view(weights.shape), posterior.null.view(null.shape))
