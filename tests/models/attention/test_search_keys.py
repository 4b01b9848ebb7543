"""Keys prepared for a search give the additive scores of plain keys, of any size."""

from __future__ import annotations

import pytest
import torch

from models.attention.search_keys import SearchKeys
from models.numerics.additive_energy import CLAMPABLE
from models.numerics.join import join


@pytest.mark.parametrize("key_scale", [1.0, 10.0, 100.0])  # 100: some are clamped
@pytest.mark.parametrize("query_scale", [1.0, 30.0, 1000.0])
def test_scores_equal_their_formula(key_scale: float, query_scale: float) -> None:
    torch.manual_seed(1)
    query, keys, energy = torch.randn(3, 2, 8), torch.randn(3, 6, 8), torch.randn(8)
    query, keys = query * query_scale, keys * key_scale
    prepared = SearchKeys.of(keys)
    assert (prepared.large is None) == (float(keys.abs().max()) <= CLAMPABLE)
    expected = (query.unsqueeze(2) + keys.unsqueeze(1)).tanh() @ energy
    torch.testing.assert_close(prepared.scores(query, energy), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("query_scale", [1.0, 1000.0])
def test_joined_keys_give_the_scores_of_each(query_scale: float) -> None:
    torch.manual_seed(1)
    query, energy = query_scale * torch.randn(5, 2, 8), torch.randn(8)
    small, large, longer = torch.randn(2, 6, 8), 50 * torch.randn(2, 6, 8), torch.randn(1, 9, 8)
    parts = [SearchKeys.of(keys) for keys in (small, large, longer)]
    both = join(parts)
    assert [part.large is None for part in (*parts, both)] == [True, False, True, False]
    assert join([parts[0], parts[2]]).large is None
    scores = both.scores(query, energy)
    for rows, part in zip((slice(0, 2), slice(2, 4), slice(4, 5)), parts, strict=True):
        alone = part.scores(query[rows], energy)
        found = scores[rows, :, : alone.shape[2]]
        torch.testing.assert_close(found, alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_selected_keys_are_those_of_the_sentences(scale: float) -> None:
    keys = scale * torch.randn(3, 6, 8)
    chosen = SearchKeys.of(keys).select(torch.tensor([2, 2]))
    expected = SearchKeys.of(keys[[2, 2]])
    assert torch.equal(chosen.powers, expected.powers)
    assert torch.equal(chosen.plain(), expected.plain())
