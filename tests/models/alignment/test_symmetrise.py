"""Two directions to one, worked by hand."""

from __future__ import annotations

import itertools

import pytest

from models.alignment import symmetrise
from models.base.errors import ModelError

FORWARD = {(0, 1), (1, 0)}  # (source, target)
REVERSE = {(0, 1), (1, 1), (2, 0)}


def test_grow_diag_adds_the_neighbours_that_have_a_free_word() -> None:
    # round (0, 1): beside it (1, 1), whose source is free; then (1, 0), whose target is; (2, 0)
    for method in ("grow-diag", "grow-diag-final-and"):
        assert symmetrise(FORWARD, REVERSE, method) == FORWARD | REVERSE
    # (1, 1) beside (0, 2), then both its own
    forward, reverse = {(0, 1), (0, 2), (1, 0)}, {(0, 2), (1, 1)}
    assert symmetrise(forward, reverse, "grow-diag-final") == forward | reverse


def test_final_adds_distant_links_of_one_free_word_and_final_and_of_two() -> None:
    forward, reverse = {(0, 0), (0, 3)}, {(0, 0), (2, 2), (2, 4), (4, 2)}
    assert symmetrise(forward, reverse, "grow-diag") == {(0, 0)}
    # forward first: (0, 3) has a free target; then the reverse: (2, 2) free, (4, 2) and (2, 4) half
    assert symmetrise(forward, reverse, "grow-diag-final") == forward | reverse
    # (0, 3) has a linked source; (2, 2) is free, and afterwards neither (4, 2) nor (2, 4) is
    assert symmetrise(forward, reverse, "grow-diag-final-and") == {(0, 0), (2, 2)}


def test_growing_reaches_over_several_rounds_and_diagonally() -> None:
    forward = {(0, 0), (1, 1), (2, 2)}
    assert symmetrise(forward, {(2, 2)}, "grow-diag") == forward
    assert symmetrise({(0, 0), (2, 2)}, {(0, 0)}) == {(0, 0)}  # two apart is not beside


def test_an_empty_intersection_does_not_grow() -> None:
    assert symmetrise({(0, 0)}, {(1, 1)}, "grow-diag") == set()
    assert symmetrise({(0, 0)}, {(1, 1)}, "grow-diag-final-and") == {(0, 0), (1, 1)}


def test_every_method_lies_between_intersection_and_union() -> None:
    square = list(itertools.product(range(2), range(2)))
    subsets = [frozenset(s) for n in range(5) for s in itertools.combinations(square, n)]
    for forward, reverse in itertools.product(subsets, subsets):
        inner, outer = (symmetrise(forward, reverse, name) for name in ("intersection", "union"))
        assert (inner, outer) == (forward & reverse, forward | reverse)
        grown = symmetrise(forward, reverse, "grow-diag")
        both = symmetrise(forward, reverse, "grow-diag-final-and")
        one = symmetrise(forward, reverse, "grow-diag-final")
        assert inner <= grown <= both <= outer and grown <= one <= outer


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ModelError, match="grow-diag"):
        symmetrise(FORWARD, REVERSE, "grow-dig")
