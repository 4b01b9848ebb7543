"""WordWeights of words from those of pieces."""

from __future__ import annotations

import pytest

from attncli.tags.spans import PartWeights, TokenWeights, word_weights
from attncli.tags.words import words


def test_pieces_are_summed_and_shared_by_the_characters_in_each_word() -> None:
    pieces = TokenWeights([(-1, 2), (2, 5)], [(-1, 3), (3, 4)], [[0.6, 0.4], [0.0, 1.0]])
    found = word_weights([PartWeights(0, 0, pieces)], words("ab de"), words("xyz."))
    # of the source's first piece, two of three characters are in "ab"; of the second, two in "de"
    [of_word] = found
    assert of_word == pytest.approx({0: 0.6 * 2 / 3 * 3 / 4, 1: 0.4 * 2 / 3 * 3 / 4})


def test_parts_of_a_text_look_at_their_own_words_alone() -> None:
    part = TokenWeights([(0, 1)], [(0, 1)], [[1.0]])
    found = word_weights(
        [PartWeights(0, 0, part), PartWeights(2, 2, part)], words("a b"), words("x y")
    )
    assert found == [{0: 1.0}, {1: 1.0}]
