"""Looks of words from those of pieces."""

from __future__ import annotations

import pytest

from attncli.markup import Part, PieceLooks, of_words, words


def test_pieces_are_summed_and_shared_by_the_characters_in_each_word() -> None:
    pieces = PieceLooks([(-1, 2), (2, 5)], [(-1, 3), (3, 4)], [[0.6, 0.4], [0.0, 1.0]])
    found = of_words([Part(0, 0, pieces)], words("ab de"), words("xyz."))
    # of the source's first piece, two of three characters are in "ab"; of the second, two in "de"
    assert found == [pytest.approx({0: 0.6 * 2 / 3 * 3 / 4, 1: 0.4 * 2 / 3 * 3 / 4})]


def test_parts_of_a_text_look_at_their_own_words_alone() -> None:
    part = PieceLooks([(0, 1)], [(0, 1)], [[1.0]])
    found = of_words([Part(0, 0, part), Part(2, 2, part)], words("a b"), words("x y"))
    assert found == [{0: 1.0}, {1: 1.0}]
