"""Searches of several batches give the outputs of each batch alone."""

from __future__ import annotations

import copy

import pytest
import torch

from models.config.tables import SearchConfig
from models.inference.search.batching import length_batches
from models.inference.search.beam import search
from models.inference.search.hypotheses import Finished
from models.inference.search.joined_search import JoinedSearch
from models.numerics.join import join
from models.text.tokenizer import END
from tests.models.small import TEXT_PRESETS, imaged, reads_images, small_model, sources
from tests.models.test_decoding import agree

BATCHES = [(9, 8, 7, 6, 5, 4, 3, 2), (7, 6, 6, 5), (4, 3, 2, 1, 1, 1, 1, 1)]


@pytest.mark.parametrize("preset", TEXT_PRESETS)
@pytest.mark.parametrize("beam", [1, 3])
@torch.no_grad()
def test_joined_searches_equal_those_of_each_batch(preset: str, beam: int) -> None:
    model, config = copy.deepcopy(small_model(preset)), SearchConfig(beam=beam, nbest=beam)
    model.output.bias[END] -= 5  # long outputs
    searches = JoinedSearch(model, config)
    paused = 0
    found: dict[int, list[Finished]] = {}
    expected: list[list[Finished]] = []
    for lengths in BATCHES:
        ids, mask = sources(*lengths)
        memory = model.encode(imaged(ids) if reads_images(preset) else ids, mask)
        limits = [4 * length for length in lengths]
        numbers = range(len(expected), len(expected) + len(lengths))
        expected += search(model, memory, limits, [str(n) for n in numbers], config)
        found.update(searches.add(memory, limits, numbers))
        paused += bool(searches.paused)
    assert paused
    found.update(searches.finish())
    assert sorted(found) == list(range(len(expected)))
    for number, outputs in enumerate(expected):
        agree(found[number], outputs)


def test_joined_rows_are_padded_and_flags_must_agree() -> None:
    one, two = torch.ones(1, 2, 2), torch.ones(2, 1, 3)
    rows, flag = join([(one, True), (two, True)])
    assert flag and rows.shape == (3, 2, 3) and rows.sum() == one.sum() + two.sum()
    with pytest.raises(ValueError, match="not equal"):
        join([(one, True), (two, False)])


def test_the_batch_that_is_not_full_has_the_shortest_examples() -> None:
    lengths = [1, 9, 3, 0, 8, 2, 7]
    assert length_batches(lengths, max_tokens=20, longest_first=True) == [[1, 4], [6, 2], [5, 0]]
    assert length_batches(lengths, max_count=4, longest_first=True) == [[1, 4, 6, 2], [5, 0]]
    assert length_batches(lengths, max_count=4) == [[0, 5, 2, 6], [4, 1]]
