"""Limits on the lengths of outputs and of whole texts, from the lengths of the training pairs.

limit(S) = max_ratio S + max_extra        S source tokens, end mark included
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from models.config import SearchConfig

SHARE = 0.999  # of the training pairs that fit the limit before the margin is added
MARGIN = 1.2  # factor on the lengths observed


def fit_limits(search: SearchConfig, sources: np.ndarray, targets: np.ndarray) -> SearchConfig:
    """Return search settings whose limits fit the training pairs.

    sources, targets (N,): lengths in tokens. The limits are never below the default ones. Settings
    that differ from their defaults were set by the user, and are returned unchanged.
    """
    default = SearchConfig.split_above
    if search.split_above == default and float(np.median(sources)) > default:
        search = replace(search, split_above=int(sources.max()))  # a summariser reads whole texts
    return fit_output_length(search, sources, targets)


def fit_output_length(
    search: SearchConfig, sources: np.ndarray, targets: np.ndarray
) -> SearchConfig:
    """Return search settings whose length limit fits the training pairs."""
    default = SearchConfig()
    if (search.max_ratio, search.max_extra) != (default.max_ratio, default.max_extra):
        return search
    ratio = float(np.quantile(targets / np.maximum(sources, 1), 0.5)) * MARGIN
    ratio = max(default.max_ratio, math.ceil(10 * ratio) / 10)
    excess = float(np.quantile(MARGIN * targets - ratio * sources, SHARE))
    return replace(search, max_ratio=ratio, max_extra=max(default.max_extra, math.ceil(excess)))
