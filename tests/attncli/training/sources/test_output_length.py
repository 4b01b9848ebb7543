"""Outputs may be as long as the training targets, unless the user sets a limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attncli.training.sources import fit_limits
from models.core.use_config import SearchConfig

DEFAULT = SearchConfig()
SOURCES = np.arange(1, 80)


def test_pairs_of_like_lengths_keep_the_default_limit() -> None:
    assert fit_limits(DEFAULT, SOURCES, SOURCES + 5) == DEFAULT


@pytest.mark.parametrize("targets", [5 * SOURCES, SOURCES + 200, np.full(79, 300)])
def test_every_training_target_fits_with_a_margin(targets: np.ndarray) -> None:
    found = fit_limits(DEFAULT, SOURCES, targets)
    assert (SOURCES * found.max_ratio + found.max_extra >= 1.15 * targets).all()


def test_texts_as_long_as_usual_training_sources_are_not_split() -> None:
    """A summariser reads whole abstracts; a few long sentences make no model of long texts."""
    abstracts = np.array([30, 150, 200, 260])
    assert fit_limits(DEFAULT, abstracts, abstracts // 10).split_above == 260
    sentences = np.array([8, 10, 12, 90])
    assert fit_limits(DEFAULT, sentences, sentences).split_above == 40
    given = replace(DEFAULT, split_above=0)
    assert fit_limits(given, abstracts, abstracts // 10).split_above == 0


def test_a_limit_that_the_user_sets_is_kept() -> None:
    given = replace(DEFAULT, max_extra=3)
    assert fit_limits(given, SOURCES, 5 * SOURCES) == given
