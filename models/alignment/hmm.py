"""Hidden Markov model of word alignment in one direction: p(target words | source words).

    p(f, a | e) = prod_j p(a_j | a_{j-1}) p(f_j | e_{a_j})                Vogel et al. 1996, eq. 6
    p(i | i')   ~ c(i - i'), the expected number of jumps of this width

Model 1 (Brown et al. 1993), with a preference for the diagonal (Dyer et al. 2013, eq. 2), gives the
first lexicon. The lexicon is re-estimated by variational Bayes with a sparse prior:

    p(f | e) = exp(psi(n(e, f) + alpha)) / exp(psi(n(e) + alpha K(e)))

with n the expected counts and K(e) the number of words that occur with e. Rare words then do not
collect the links of frequent ones (Riley and Gildea 2012).
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.alignment.chain import NULL, Posterior, forward_backward, steps_of, widths
from models.alignment.word_pairs import Group, WordPairs
from models.storage.statistical import MAX_WORDS

ALPHA = 0.01  # prior count of each entry of the lexicon
DIAGONAL = 4.0  # strength of Model 1's preference for the diagonal
SMALLEST = 1e-8  # probability of any pair of words


class HiddenMarkov:
    """Lexicon and jumps of one direction, with their expectation and maximisation steps."""

    def __init__(self, table: WordPairs) -> None:
        self.table = table
        targets = len(table.target_words)
        uniform = 1 / max(targets, 1)
        self.lexicon = torch.full((len(table.source),), uniform)  # (K,)
        self.null = torch.full((targets,), uniform)
        width = torch.arange(-MAX_WORDS, MAX_WORDS + 1)
        self.jumps = torch.exp(-0.5 * (width - 1).abs())  # (2 M + 1,): a step forward is likeliest

    def model1(self, group: Group, *, diagonal: float) -> Posterior:
        """Return the posterior of Model 1: positions depend on the diagonal only."""
        links, null = self.emissions(group)
        links = links * (1 - NULL) * near_diagonal(links.shape[1], links.shape[2], diagonal)
        null = null * NULL
        total = links.sum(-1) + null
        return Posterior(links / total[..., None], null / total, links.new_zeros(0, 0))

    def posterior(self, group: Group) -> Posterior:
        """Return the posterior of the hidden Markov model."""
        steps = steps_of(self.jumps[widths(group.source.shape[1]) + MAX_WORDS])
        return forward_backward(*self.emissions(group), steps)

    def emissions(self, group: Group) -> tuple[Tensor, Tensor]:
        """Return p(f | e) of each cell (N, J, I), and of each target word without e (N, J)."""
        return self.lexicon[group.cells].clamp_min(SMALLEST), self.null[group.target]

    def maximise(self, links: Tensor, null: Tensor, jumps: Tensor | None) -> None:
        """Re-estimate the lexicon, and the jumps if there are any, from expected counts.

        links (K,) of pairs of words, null (target words,), jumps (2 M + 1,).
        """
        source, size = self.table.source, len(self.table.source_words)
        total = torch.bincount(source, links, size)
        kinds = torch.bincount(source, minlength=size)
        self.lexicon = (bayes(links, ALPHA) / bayes(total, ALPHA * kinds)[source]).float()
        empty = bayes(null, ALPHA) / bayes(null.sum(), ALPHA * len(null))
        self.null = empty.float().clamp_min(SMALLEST)
        if jumps is not None:
            self.jumps = (jumps / jumps.sum().clamp_min(1) + SMALLEST).float()


def near_diagonal(targets: int, sources: int, strength: float) -> Tensor:
    """Return p(i | j) (J, I) ~ exp(-strength |i / I - j / J|). Dyer et al. 2013, eq. 2."""
    row = (torch.arange(targets) + 0.5) / targets
    column = (torch.arange(sources) + 0.5) / sources
    return torch.softmax(-strength * (row[:, None] - column).abs(), 1)


def bayes(counts: Tensor, prior: Tensor | float) -> Tensor:
    """Return exp(psi(counts + prior)), the weight of counts under a Dirichlet prior."""
    return torch.special.digamma(counts.double() + prior).exp()
