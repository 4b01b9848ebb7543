"""Word links of sentence pairs become links of tokens and target weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attncli.data.alignments.word_links import (
    cell_links,
    read_word_links,
    target_weights,
    token_links,
)
from models.base.errors import ModelError
from models.text.tokenizer import Tokenizer
from models.text.units import units

PAIR = ("The dog sees.", "Der Hund sieht.")


def test_linked_words_link_all_their_tokens_but_no_marks(tiny_tokenizer: Tokenizer) -> None:
    source, target = tiny_tokenizer.encode(PAIR[0]), tiny_tokenizer.encode_target(PAIR[1])
    links = token_links(((1, 1), (2, 2)), source, target, tiny_tokenizer)
    found = {(s, t) for s, t in links.tolist()}
    words = [
        units(processor, ids, marks=False).shares
        for processor, ids in ((tiny_tokenizer.source, source), (tiny_tokenizer.target, target))
    ]
    assert found == {
        (s, t)
        for s in range(len(source))
        for t in range(len(target))
        for word in (1, 2)
        if words[0][s, word] and words[1][t, word]
    }
    stops = [
        tiny_tokenizer.source.id_to_piece(source).index("."),
        tiny_tokenizer.pieces(target).index("."),
    ]
    assert not any(s == stops[0] or t == stops[1] for s, t in found)


def test_linked_tokens_share_a_row() -> None:
    links = [np.array([[0, 1], [2, 1], [2, 0]]), np.zeros((0, 2), np.int64)]
    table = target_weights(links, (3, 3))
    assert table[0].tolist() == [[0, 0, 1], [0.5, 0, 0.5], [0, 0, 0]]
    assert not table[1].any()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("0-0\n1-1\n", "2 lines for 3 pairs"),
        ("0-0\n\n1-1\n2-2\n", "4 lines for 3 pairs"),
        ("0-0\nx\n1-1\n", "line 2: 'x' is not a link"),
    ],
)
def test_a_file_that_does_not_fit_the_pairs_is_refused(
    text: str, fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "links.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(ModelError, match=fault):
        read_word_links(path, 3)


def test_a_link_outside_its_pair_is_refused(tiny_tokenizer: Tokenizer) -> None:
    source, target = tiny_tokenizer.encode("She is"), tiny_tokenizer.encode_target("Sie ist")
    with pytest.raises(ModelError, match="link 2-1 of a pair with 2 source and 2 target units"):
        token_links(((0, 0), (2, 1)), source, target, tiny_tokenizer)


def test_a_cell_is_linked_to_all_tokens_of_its_word(tiny_tokenizer: Tokenizer) -> None:
    target = tiny_tokenizer.encode_target("Der Hund sieht.")
    shares = units(tiny_tokenizer.target, target, marks=False).shares
    links = cell_links(((5, 1), (7, 1)), 9, target, tiny_tokenizer)
    tokens = [token for token in range(len(target)) if shares[token, 1]]
    assert links.tolist() == [[cell, token] for cell in (5, 7) for token in tokens]
    with pytest.raises(ModelError, match="link 9-0 of a pair with 9 source and 3 target units"):
        cell_links(((9, 0),), 9, target, tiny_tokenizer)
