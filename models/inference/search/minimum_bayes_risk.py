"""Minimum Bayes risk decoding: of several candidates, the one most similar to all in expectation.

    score(y) = sum over the candidates y' of  w(y') u(y, y')

    w(y') is proportional to p(y' | x)^0.5 in an n-best list, and equal for samples, whose
    frequency already follows p

u is a utility, see utilities.py. Sources: Kumar and Byrne 2004; Eikema and Aziz 2020, 2022.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from models.base.types import Hypothesis
from models.config import NO_UTILITY, SearchConfig

SCALE = 0.5  # exponent of the probabilities of candidates of a beam
DIGITS = 9  # decimal places of a score, so that sums that differ by rounding alone are equal


def candidate_search(config: SearchConfig) -> SearchConfig:
    """Return the settings of the search for candidates; unchanged without minimum Bayes risk."""
    if not has_candidates(config):
        return config
    return replace(config, nbest=max(config.nbest, config.candidates))


def by_expected_similarity(
    candidates: Sequence[Hypothesis], config: SearchConfig
) -> tuple[Hypothesis, ...]:
    """Return the best `config.nbest` candidates; their score is the expected similarity.

    Of equal scores, the earlier candidate is better. Without minimum Bayes risk, all candidates are
    returned as they are.
    """
    if not has_candidates(config):
        return tuple(candidates)
    from models.inference.search.utilities import UTILITIES  # imports numpy

    similarity = UTILITIES[config.mbr]([candidate.text for candidate in candidates])  # (N, N)
    scores = (similarity @ weights(candidates, config)).round(DIGITS).tolist()
    scored = [c._replace(score=score) for c, score in zip(candidates, scores, strict=True)]
    return tuple(sorted(scored, key=lambda one: -one.score)[: config.nbest])


def has_candidates(config: SearchConfig) -> bool:
    """Return True if minimum Bayes risk chooses the output; greedy search has a single one."""
    return config.mbr != NO_UTILITY and config.method != "greedy"


def weights(candidates: Sequence[Hypothesis], config: SearchConfig) -> list[float]:
    """Return the weight of each candidate; their sum is 1."""
    scale = 0.0 if config.method == "sample" else SCALE
    most = max(candidate.log_prob for candidate in candidates)
    powers = [math.exp(scale * (candidate.log_prob - most)) for candidate in candidates]
    return [power / sum(powers) for power in powers]
