"""Limits of the lengths of outputs."""

from __future__ import annotations

import math

import pytest

from models.base.errors import ConfigurationError
from models.base.limits import OUTPUT_TOKENS
from models.inference.search.hypotheses import (
    caption_limit,
    check_search,
    length_limit,
    length_penalty,
)
from models.use_config import SearchConfig


def test_the_length_limit_is_a_factor_and_a_constant() -> None:
    assert length_limit(7, SearchConfig(max_ratio=1.5, max_extra=4)) == 14


@pytest.mark.parametrize("ratio", [1e4, 2.0**63, 1e308])
def test_no_setting_of_a_model_makes_an_output_longer_than_the_ceiling(ratio: float) -> None:
    assert length_limit(512, SearchConfig(max_ratio=ratio, max_extra=2**20)) == OUTPUT_TOKENS
    assert caption_limit(SearchConfig(max_caption=2**20)) == OUTPUT_TOKENS


def test_every_allowed_length_penalty_can_be_computed() -> None:
    check_search(SearchConfig(length_penalty=100))
    assert length_penalty(OUTPUT_TOKENS, SearchConfig(length_penalty=100)) < math.inf
    with pytest.raises(ConfigurationError, match="length_penalty"):
        check_search(SearchConfig(length_penalty=101))
