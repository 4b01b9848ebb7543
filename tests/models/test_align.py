"""Alignment by attention: pieces to words, words to links, links to an error rate."""

from __future__ import annotations

import pytest
import torch

from models.align import Words, align, diagonal, error_rate, merged, strongest, word_weights, words
from models.tokenizer import Tokenizer
from models.translator import Translator


def test_pieces_are_summed_to_words_on_both_sides() -> None:
    weights = torch.tensor(
        [[0.3, 0.1, 0.5, 0.1], [0.2, 0.3, 0.5, 0.0], [0.0, 0.1, 0.8, 0.1], [0.9, 0.0, 0.0, 0.1]]
    )  # (T, S)
    table = merged(weights, Words(2, [0, 0, 1, -1]), Words(2, [0, 0, 1, -1]))
    torch.testing.assert_close(table, torch.tensor([[0.9, 1.0], [0.1, 0.8]]))
    assert strongest(table) == {(1, 0), (1, 1)}


def test_a_word_nobody_looks_from_has_no_link() -> None:
    assert strongest(torch.tensor([[0.0, 0.0], [0.2, 0.1]])) == {(0, 1)}
    assert strongest(torch.zeros(0, 3)) == strongest(torch.zeros(3, 0)) == set()


@pytest.mark.parametrize("text", ["The dog sees.", "  two  spaces ", "a\tb\u00a0c", "Ωmega 😀 x"])
def test_words_are_those_between_spaces(text: str, tiny_tokenizer: Tokenizer) -> None:
    processor, ids = tiny_tokenizer.source, tiny_tokenizer.encode(text)
    found = words(processor, ids)
    assert found.total == len(text.split()) and len(found.of_piece) == len(ids)
    assert found.of_piece[-1] == -1  # the end mark
    for number, word in enumerate(text.split()):
        pieces = [i for i, owner in zip(ids, found.of_piece, strict=True) if owner == number]
        assert processor.decode(pieces).strip() == word


def test_the_diagonal_by_hand() -> None:
    assert diagonal(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert diagonal(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert diagonal(4, 2) == {(1, 0), (3, 1)}
    assert diagonal(0, 2) == set()


def test_the_error_rate_by_hand() -> None:
    found, sure, possible = {(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 2)}, {(1, 1)}
    assert error_rate([found], [sure], [possible]) == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert error_rate([sure], [sure]) == 0 and error_rate([found], [set()]) == 1
    assert error_rate([found, sure], [sure, sure]) == pytest.approx(1 - (2 + 4) / (5 + 4))


def test_an_alignment_does_not_depend_on_the_batch(tiny_translator: Translator) -> None:
    pairs = [("The dog sees a house.", "Der Hund sieht ein Haus."), ("", "x"), ("She is.", "Sie")]
    together = align(tiny_translator, pairs)
    assert together == [align(tiny_translator, [pair])[0] for pair in pairs]
    assert together[1] == set() and {j for _, j in together[0]} == set(range(5))
    [table] = word_weights(tiny_translator, pairs[:1])
    assert table.shape == (5, 5)
