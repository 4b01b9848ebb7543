"""Files of links: both styles, what they count from, and links to words that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.data.alignments import (
    PairLinks,
    cell_links,
    read_external_alignments,
    read_links,
    token_links,
)
from models.core.errors import ModelError
from models.text.tokenizer import Tokenizer
from models.text.units import units
from tests.attncli.files import write


def test_pharaoh_with_possible_links_and_probabilities(tmp_path: Path) -> None:
    found = read_links(write(tmp_path / "links", "0-0 1p2 2?1\n\n0-1:0.25 1-0:1e-3\n"))
    assert found.rows[0].sure == {(0, 0)} and found.rows[0].possible == {(0, 0), (1, 2), (2, 1)}
    assert found.rows[1] == PairLinks(frozenset())
    assert found.rows[2].sure == {(0, 1), (1, 0)}
    assert found.note == "counts from 0 (line 1 has 0-0)"


def test_naacl_counts_from_one_and_may_leave_pairs_out(tmp_path: Path) -> None:
    path = write(tmp_path / "links", "0001 1 1\n0001 2 3 P\n\n3 1 2 S 0.5\n")
    found = read_links(path)
    assert found.note.startswith("counts from 1") and [len(row.possible) for row in found.rows] == [
        2,
        0,
        1,
    ]
    assert found.rows[0].sure == {(0, 0)} and found.rows[0].possible == {(0, 0), (1, 2)}
    assert found.rows[2].sure == {(0, 1)}
    assert len(read_links(path, [(2, 3), (1, 1), (2, 2), (1, 1)]).rows) == 4
    with pytest.raises(ModelError, match="3 sentence pairs.*expected 2"):
        read_links(path, [(2, 3), (1, 1)])


def test_the_same_links_counted_from_either_are_the_same(tmp_path: Path) -> None:
    lengths = [(2, 3)]
    from_one = read_links(write(tmp_path / "links", "1-1 2p3\n"), lengths)
    from_zero = read_links(write(tmp_path / "links", "0-0 1p2\n"), lengths)
    assert from_one.rows == from_zero.rows
    assert from_zero.note.startswith("counts from 0")
    assert from_one.note == "counts from 1 (line 1 has 2p3, and 2 source words)"


def test_a_link_out_of_range_names_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "links", "0-0\n0-0 1-2 2-0\n")
    lengths = [(1, 1), (2, 2)]
    with pytest.raises(ModelError, match="line 2: 1-2 has target word 2 of 2"):
        read_links(path, lengths)
    with pytest.raises(ModelError, match="line 1: 0-0 has source word 0.*counting from 1"):
        read_links(path, lengths, index="1")


@pytest.mark.parametrize(
    "text", ["0-0 1_2\n", "0-0 x\n", "1 2\n", "0-0:x\n", "0-0:.\n", "1 1 1\n1 1\n"]
)
def test_what_is_no_link_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(ModelError, match=r"line \d: .* is not a link"):
        read_links(write(tmp_path / "links", text))


LENGTHS = [(2, 2), (1, 2)]


def test_marian_hard_and_soft_the_end_marks_left_out(tmp_path: Path) -> None:
    hard, _ = read_external_alignments(
        write(tmp_path / "view", "x y ||| 0-0 1-1\nz w ||| 0-1\n"), LENGTHS
    )
    assert [panel.links for panel in hard] == [{(0, 0), (1, 1)}, {(0, 1)}]
    text = "x y ||| 0.1,0.9,0 0.8,0.1,0.1 0,0,1\nz w ||| 0.7,0.3 0.6,0.4\n"
    soft, _ = read_external_alignments(write(tmp_path / "view", text), LENGTHS)
    weights = [panel.weights.tolist() for panel in soft if panel.weights is not None]
    assert weights == [[[0.1, 0.9], [0.8, 0.1]], [[0.7], [0.6]]]
    assert soft[0].links == {(1, 0), (0, 1)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x ||| 0-0\n", "alignments of 1 pair"),
        ("x y ||| 0-5\nz w ||| \n", "line 1: 0-5 in a pair of 2 and 2 words"),
        ("x y ||| 0.1,0.9 0.5\nz w ||| \n", "no table of weights"),
        ("x y ||| 0,0,0,0 0,0,0,0\nz w ||| \n", "weights of 4 source tokens, the text 2 words"),
        ("x y ||| zero\nz w ||| \n", "'zero' is not a link"),
        ('{"links": []}\n', "is not a link"),
        ("A-0\t0-0\n", "'A-0' is not a link"),
        ("x y ||| 1e999,0 0,1\nz w ||| \n", "no table of weights"),
        (f"x y ||| {'1' * 5000}-0\nz w ||| \n", "is not a link"),
    ],
)
def test_alignments_that_do_not_fit_the_texts_are_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        read_external_alignments(write(tmp_path / "view", text), LENGTHS)


def test_linked_words_link_all_their_tokens_but_no_marks(tiny_tokenizer: Tokenizer) -> None:
    source = tiny_tokenizer.encode("The dog sees.")
    target = tiny_tokenizer.encode_target("Der Hund sieht.")
    links = token_links(((1, 1), (2, 2)), source, target, tiny_tokenizer)
    shares = [
        units(processor, ids, marks=False).shares
        for processor, ids in ((tiny_tokenizer.source, source), (tiny_tokenizer.target, target))
    ]
    left, right = ((side[:, [1, 2]] > 0).float() for side in shares)  # no column of a full stop
    assert sorted(links.tolist()) == (left @ right.T).nonzero().tolist()
    stop = tiny_tokenizer.pieces(target).index(".")
    assert stop not in links[:, 1]


def test_a_cell_is_linked_to_all_tokens_of_its_word(tiny_tokenizer: Tokenizer) -> None:
    target = tiny_tokenizer.encode_target("Der Hund sieht.")
    shares = units(tiny_tokenizer.target, target, marks=False).shares
    links = cell_links(((5, 1), (7, 1)), 9, target, tiny_tokenizer)
    tokens = [token for token in range(len(target)) if shares[token, 1]]
    assert links.tolist() == [[cell, token] for cell in (5, 7) for token in tokens]
    with pytest.raises(ModelError, match="link 9-0 of a pair with 9 source and 3 target units"):
        cell_links(((9, 0),), 9, target, tiny_tokenizer)
