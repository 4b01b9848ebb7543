"""Word links of sentence pairs become links of tokens and target weights."""

from __future__ import annotations

import numpy as np
import pytest

from attncli.data.text.alignments import cell_links, target_weights, token_links
from models.base.errors import ModelError
from models.text.tokenizer import Tokenizer
from models.text.units import units

PAIR = ("The dog sees.", "Der Hund sieht.")


def test_linked_words_link_all_their_tokens_but_no_marks(tiny_tokenizer: Tokenizer) -> None:
    source, target = tiny_tokenizer.encode(PAIR[0]), tiny_tokenizer.encode_target(PAIR[1])
    links = token_links(((1, 1), (2, 2)), source, target, tiny_tokenizer)
    shares = [
        units(processor, ids, marks=False).shares
        for processor, ids in ((tiny_tokenizer.source, source), (tiny_tokenizer.target, target))
    ]
    left, right = ((side[:, [1, 2]] > 0).float() for side in shares)  # no column of a full stop
    assert sorted(links.tolist()) == (left @ right.T).nonzero().tolist()
    stop = tiny_tokenizer.pieces(target).index(".")
    assert stop not in links[:, 1]


def test_linked_tokens_share_a_row() -> None:
    links = [np.array([[0, 1], [2, 1], [2, 0]]), np.zeros((0, 2), np.int64)]
    table = target_weights(links, (3, 3))
    assert table[0].tolist() == [[0, 0, 1], [0.5, 0, 0.5], [0, 0, 0]]
    assert not table[1].any()


def test_a_cell_is_linked_to_all_tokens_of_its_word(tiny_tokenizer: Tokenizer) -> None:
    target = tiny_tokenizer.encode_target("Der Hund sieht.")
    shares = units(tiny_tokenizer.target, target, marks=False).shares
    links = cell_links(((5, 1), (7, 1)), 9, target, tiny_tokenizer)
    tokens = [token for token in range(len(target)) if shares[token, 1]]
    assert links.tolist() == [[cell, token] for cell in (5, 7) for token in tokens]
    with pytest.raises(ModelError, match="link 9-0 of a pair with 9 source and 3 target units"):
        cell_links(((9, 0),), 9, target, tiny_tokenizer)
