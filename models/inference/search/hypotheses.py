"""Finished hypotheses, their score and their greatest length; shared by all engines. No torch.

    score(y) = log p(y) / lp(y),   lp(y) = ((5 + |y|) / 6)^alpha       Wu et al. 2016, eq. 14
                                   lp(y) = |y|^alpha                  in other programs

|y| includes the end mark.
"""

from __future__ import annotations

from typing import NamedTuple

from models.base.errors import ConfigurationError
from models.base.limits import OUTPUT_TOKENS
from models.base.settings import check_limits
from models.config import SearchConfig


class Finished(NamedTuple):
    """One finished hypothesis."""

    ids: tuple[int, ...]  # without the end mark
    log_prob: float  # natural logarithm, end mark included
    score: float
    truncated: bool = False  # the length limit ended it where the model preferred another token


def length_penalty(length: int, config: SearchConfig) -> float:
    """Return lp of an output of `length` tokens, end mark included. Wu et al. 2016, eq. 14."""
    base = length if config.length_penalty_form == "power" else (5 + length) / 6
    return float(base**config.length_penalty)


def length_limit(source: int, config: SearchConfig) -> int:
    """Return the greatest output length for a source length; both in tokens, end marks included."""
    most = int(min(source * config.max_ratio, OUTPUT_TOKENS)) + config.max_extra
    return min(most, OUTPUT_TOKENS)


def caption_limit(config: SearchConfig) -> int:
    """Return the greatest length of a caption, in tokens, end mark included."""
    return min(config.max_caption, OUTPUT_TOKENS)


def check_search(config: SearchConfig) -> None:
    """Raise ConfigurationError for settings outside their limits, and for an n-best greedy list."""
    check_limits(config, where="search")
    if config.method == "greedy" and config.nbest > 1:
        raise ConfigurationError(
            f"search.nbest = {config.nbest} with greedy search", "1", "use beam search or sampling"
        )


def beam_width(config: SearchConfig) -> int:
    """Return the number of hypotheses that beam or greedy search keeps at each step."""
    return 1 if config.method == "greedy" else max(config.beam, config.nbest)


def led_by(first: list[Finished], others: list[Finished]) -> list[Finished]:
    """Return outputs with those of another search behind them, each once."""
    known = {one.ids for one in first}
    return [*first, *(one for one in others if one.ids not in known)]
