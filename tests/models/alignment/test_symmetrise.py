"""Two directions to one, worked by hand where programs differ."""

from __future__ import annotations

import itertools

import pytest

from models.alignment import symmetrise
from models.alignment.symmetrise import METHODS
from models.base.errors import ModelError
from models.base.settings import from_dict, limits_of
from models.config.tables import AlignConfig

FLAVOURS = limits_of(AlignConfig, "flavour").choices
FORWARD = {(0, 1), (1, 0)}  # (source, target)
REVERSE = {(0, 1), (1, 1), (2, 0)}
ALL = FORWARD | REVERSE


@pytest.mark.parametrize(
    ("flavour", "links"),
    [
        # round (0, 1): beside it (1, 1), whose source is free; then (1, 0), whose target is; (2, 0)
        ("moses", ALL),
        # source by source: (1, 0) first, with both free; then (1, 1) has no free word; (2, 0)
        ("fast_align", ALL - {(1, 1)}),
        # (1, 1) and (2, 0) each have a word that is linked
        ("one-to-one", {(0, 1), (1, 0)}),
    ],
)
def test_grow_diag_where_all_flavours_differ(flavour: str, links: set[tuple[int, int]]) -> None:
    assert symmetrise(FORWARD, REVERSE, "grow-diag", flavour) == links
    assert symmetrise(FORWARD, REVERSE, "grow-diag-final-and", flavour) == links


@pytest.mark.parametrize(
    ("flavour", "links"),
    [
        ("moses", {(0, 1), (0, 2), (1, 0), (1, 1)}),  # (1, 1) beside (0, 2), then both its own
        ("fast_align", {(0, 1), (0, 2), (1, 0)}),  # (0, 1), (1, 0), and (1, 1) comes too late
        ("one-to-one", {(0, 2), (1, 1), (1, 0)}),  # (1, 1), then (1, 0), and (0, 1) comes too late
    ],
)
def test_grow_diag_final_where_all_flavours_differ(
    flavour: str, links: set[tuple[int, int]]
) -> None:
    forward, reverse = {(0, 1), (0, 2), (1, 0)}, {(0, 2), (1, 1)}
    assert symmetrise(forward, reverse, "grow-diag-final", flavour) == links


def test_final_adds_distant_links_of_one_free_word_and_final_and_of_two() -> None:
    forward, reverse = {(0, 0), (0, 3)}, {(0, 0), (2, 2), (2, 4), (4, 2)}
    assert symmetrise(forward, reverse, "grow-diag") == {(0, 0)}
    # forward first: (0, 3) has a free target; then the reverse: (2, 2) free, (4, 2) and (2, 4) half
    everything = forward | reverse
    assert symmetrise(forward, reverse, "grow-diag-final") == everything
    # (0, 3) has a linked source; (2, 2) is free, and afterwards neither (4, 2) nor (2, 4) is
    assert symmetrise(forward, reverse, "grow-diag-final-and") == {(0, 0), (2, 2)}


def test_growing_reaches_over_several_rounds_and_diagonally() -> None:
    forward, reverse = {(0, 0), (1, 1), (2, 2)}, {(2, 2)}
    for flavour in FLAVOURS:
        assert symmetrise(forward, reverse, "grow-diag", flavour) == forward
    assert symmetrise({(0, 0), (2, 2)}, {(0, 0)}) == {(0, 0)}  # two apart is not beside


def test_an_empty_intersection_does_not_grow() -> None:
    forward, reverse = {(0, 0)}, {(1, 1)}
    for flavour in FLAVOURS:
        assert symmetrise(forward, reverse, "grow-diag", flavour) == set()
        assert symmetrise(forward, reverse, "grow-diag-final-and", flavour) == {(0, 0), (1, 1)}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_way_lies_between_intersection_and_union(flavour: str) -> None:
    square = list(itertools.product(range(2), range(2)))
    subsets = [frozenset(s) for n in range(5) for s in itertools.combinations(square, n)]
    for forward, reverse in itertools.product(subsets, subsets):
        inner, outer = (symmetrise(forward, reverse, name) for name in METHODS[:2])
        assert (inner, outer) == (forward & reverse, forward | reverse)
        grown = symmetrise(forward, reverse, "grow-diag", flavour)
        both = symmetrise(forward, reverse, "grow-diag-final-and", flavour)
        one = symmetrise(forward, reverse, "grow-diag-final", flavour)
        assert inner <= grown <= both <= outer and grown <= one <= outer


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ModelError, match="grow-diag"):
        symmetrise(FORWARD, REVERSE, "grow-dig")
    with pytest.raises(ModelError, match="one-to-one"):
        symmetrise(FORWARD, REVERSE, "union", "both")


def test_the_old_name_of_a_flavour_is_still_read() -> None:
    forward, reverse = {(0, 0), (0, 1)}, {(0, 0), (1, 1)}
    found = symmetrise(forward, reverse, "grow-diag", "both-free")
    assert found == symmetrise(forward, reverse, "grow-diag", "one-to-one")
    assert from_dict(AlignConfig, {"flavour": "both-free"}).flavour == "one-to-one"
