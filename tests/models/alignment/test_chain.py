"""The forward-backward algorithm equals the sum over all alignments."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from models.alignment.hmm import NULL, forward_backward, smoothed, steps_of, widths
from models.alignment.weights import UnitWeights


def by_enumeration(
    links: torch.Tensor, null: torch.Tensor, steps: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the posteriors (J, I) and (J,) of one pair as sums over every alignment."""
    rows, columns = links.shape
    found, empty = torch.zeros(rows, columns), torch.zeros(rows)
    for states in product(range(2 * columns), repeat=rows):  # I real states, I null states
        places = [state % columns for state in states]
        total, before = 1.0, -1
        for j, (state, place) in enumerate(zip(states, places, strict=True)):
            if state < columns:
                total *= float((1 - NULL) * steps[before + 1, place] * links[j, place])
            else:
                kept = steps[0, place] if before < 0 else float(place == before)
                total *= float(NULL * kept * null[j])
            before = place
        for j, state in enumerate(states):
            if state < columns:
                found[j, state] += total
            else:
                empty[j] += total
    whole = found[0].sum() + empty[0]
    return found / whole, empty / whole


@pytest.mark.parametrize(("rows", "columns"), [(1, 3), (3, 1), (4, 2), (3, 3)])
def test_it_equals_the_sum_over_all_alignments(rows: int, columns: int) -> None:
    links, null = torch.rand(2, rows, columns), torch.rand(2, rows)
    steps = steps_of(torch.exp(-widths(columns).abs().float()))
    found = forward_backward(links, null, steps)
    for n in range(2):
        expected, empty = by_enumeration(links[n], null[n], steps)
        torch.testing.assert_close(found.links[n], expected)
        torch.testing.assert_close(found.null[n], empty)
    nulls = found.null[:, 1:].sum().item()  # after the first word; they make no jump
    assert found.jumps.sum().item() == pytest.approx((rows - 1) * 2 - nulls, 1e-4)


def test_without_a_preference_for_jumps_weights_are_unchanged() -> None:
    weights = UnitWeights(torch.rand(2, 3, 4, 5), torch.rand(2, 3, 4))
    assert smoothed(weights, 0.0) is weights


def test_a_doubtful_word_follows_its_neighbours() -> None:
    """The middle word prefers neither side; its neighbours are linked with the first words."""
    weights = torch.tensor([[0.9, 0.02, 0.03, 0.05], [0.0, 0.5, 0.0, 0.5], [0.02, 0.03, 0.9, 0.05]])
    found = smoothed(UnitWeights(weights, torch.zeros(3)), 1.0)
    torch.testing.assert_close(found.weights.sum(1) + found.null, torch.ones(3))
    assert found.weights[1, 1] > 5 * found.weights[1, 3]
