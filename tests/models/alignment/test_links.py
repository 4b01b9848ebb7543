"""Weights to links, worked by hand."""

from __future__ import annotations

import itertools
from itertools import product

import pytest
import torch

from models.alignment import symmetrise
from models.alignment._links import EXTRACTS, coupling, diagonal, extract
from models.core.use_config import AlignConfig

WEIGHTS = torch.tensor([[0.6, 0.3, 0.0], [0.7, 0.1, 0.1], [0.0, 0.3, 0.3]])  # (J, I)
NULL = torch.tensor([0.1, 0.1, 0.4])


@pytest.mark.parametrize(
    ("config", "links"),
    [
        (AlignConfig(extract="argmax"), {(0, 0), (0, 1), (1, 2)}),
        (AlignConfig(extract="argmax", null_threshold=0.3), {(0, 0), (0, 1)}),
        (
            AlignConfig(extract="threshold", threshold=0.25),
            {(0, 0), (1, 0), (0, 1), (1, 2), (2, 2)},
        ),
        (AlignConfig(extract="threshold", threshold=0.65), {(0, 1)}),
        (AlignConfig(extract="mutual"), {(0, 1)}),
    ],
)
def test_links_by_hand(config: AlignConfig, links: set[tuple[int, int]]) -> None:
    assert extract(WEIGHTS, NULL, config) == links


def test_a_unit_nobody_looks_from_has_no_link() -> None:
    weights = torch.tensor([[0.0, 0.0], [0.2, 0.1]])
    for name in ("argmax", "threshold", "mutual"):
        found = extract(weights, torch.zeros(2), AlignConfig(extract=name, threshold=0.2))
        assert found == {(0, 1)}, name
    for name, shape in product(EXTRACTS, ((0, 3), (3, 0))):
        assert (
            extract(torch.zeros(shape), torch.zeros(shape[0]), AlignConfig(extract=name)) == set()
        )


def test_the_coupling_has_uniform_sums() -> None:
    plan = coupling(torch.rand(4, 6, generator=torch.Generator().manual_seed(1)))
    torch.testing.assert_close(plan.sum(0), torch.full((6,), 1 / 6).double())
    torch.testing.assert_close(plan.sum(1), torch.full((4,), 1 / 4).double())


def test_transport_shares_a_source_word_that_everything_looks_at() -> None:
    weights = torch.tensor([[0.9, 0.1], [0.6, 0.4]])
    assert extract(weights, torch.zeros(2), AlignConfig(extract="argmax")) == {(0, 0), (0, 1)}
    # u, v with plan = diag(u) W diag(v): odds ratio 0.9 * 0.4 / (0.1 * 0.6) = 6 is kept, and
    # with rows and columns of 1/2 the diagonal holds a = sqrt(6) / (1 + sqrt(6)) of each half
    torch.testing.assert_close(
        coupling(weights)[0, 0], torch.tensor(0.5 * 6**0.5 / (1 + 6**0.5)).double()
    )
    found = extract(weights, torch.zeros(2), AlignConfig(extract="transport", threshold=0.7))
    assert found == {(0, 0), (1, 1)}


def test_the_diagonal_by_hand() -> None:
    assert diagonal(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert diagonal(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert diagonal(4, 2) == {(1, 0), (3, 1)}
    assert diagonal(0, 2) == set()


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
