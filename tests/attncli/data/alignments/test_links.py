"""Files of links: both styles, what they count from, and links to words that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.data.text.alignments import PairLinks, read_links
from models.base.errors import ModelError
from tests.attncli.files import write


def test_pharaoh_with_possible_links_and_probabilities(tmp_path: Path) -> None:
    found = read_links(write(tmp_path / "links", "0-0 1p2 2?1\n\n0-1:0.25 1-0:1e-3\n"))
    assert found.rows[0].sure == {(0, 0)} and found.rows[0].possible == {(0, 0), (1, 2), (2, 1)}
    assert found.rows[1] == PairLinks(frozenset())
    assert found.rows[2].sure == {(0, 1), (1, 0)}
    assert (found.base, found.reason) == (0, "line 1 has 0-0")


def test_naacl_counts_from_one_and_may_leave_pairs_out(tmp_path: Path) -> None:
    path = write(tmp_path / "links", "0001 1 1\n0001 2 3 P\n\n3 1 2 S 0.5\n")
    found = read_links(path)
    assert found.base == 1 and [len(row.possible) for row in found.rows] == [2, 0, 1]
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
    assert (from_one.base, from_zero.base) == (1, 0)
    assert from_one.reason == "line 1 has 2p3, and 2 source words"


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
