"""Formats of alignments: what is written is what was given, in every one of them."""

from __future__ import annotations

import base64
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy
import pytest

from attncli.data.alignments import read_links
from attncli.render.alignment import LINK
from attncli.render.alignment_writers import FORMATS, format_of, heat_maps, written
from attncli.render.figures import undrawable
from attncli.task.panels import AlignedPair, Panel
from models.core.errors import ModelError

WEIGHTS = numpy.array([[0.9, 0.1], [0.25, 0.75], [0.5, 0.0]])
HEADS = numpy.stack([numpy.stack([WEIGHTS, 1 - WEIGHTS])] * 3)  # (3, 2, J, I)
LINKS = frozenset({(1, 1), (0, 0), (0, 2)})
OURS = Panel("ours", LINKS, WEIGHTS, HEADS)
PAIR = AlignedPair(1, ("der", "</script>&"), ("the", "שלום", "犬"), (OURS,), score=-1.5)
EMPTY = AlignedPair(2, (), (), (Panel("ours", frozenset()),), note="an empty side")


def test_links_by_line() -> None:
    assert written([PAIR, EMPTY], "pharaoh") == b"0-0 0-2 1-1\n\n"
    assert written([PAIR, EMPTY], "talp") == b"1-1 1-3 2-2\n\n"
    assert written([PAIR, EMPTY], "naacl") == b"1 1 1 S\n1 1 3 S\n1 2 2 S\n"
    probable = written([PAIR], "pharaoh", probabilities=True)
    assert probable == b"0-0:0.9000 0-2:0.5000 1-1:0.7500\n"


@pytest.mark.parametrize("name", ["pharaoh", "talp", "naacl"])
def test_what_is_written_is_read_again(name: str, tmp_path: Path) -> None:
    path = tmp_path / "links"
    path.write_bytes(written([PAIR, EMPTY], name, probabilities=True))
    rows = read_links(path, [(2, 3), (0, 0)]).rows
    assert [row.sure for row in rows] == [LINKS, frozenset()]
    assert re.findall(r"\d\.\d+", path.read_text()) == ["0.9000", "0.5000", "0.7500"]


def test_json_lines_hold_everything() -> None:
    first, second = map(json.loads, written([PAIR, EMPTY], "jsonl").decode().splitlines())
    assert first["weights"] == WEIGHTS.tolist() and first["links"] == [[0, 0], [0, 2], [1, 1]]
    assert (first["source"], first["score"]) == (list(PAIR.source), -1.5)
    assert second == {"source": [], "target": [], "links": [], "note": "an empty side"}
    others = PAIR._replace(panels=(OURS, Panel("theirs", frozenset({(1, 2)}))))
    assert json.loads(written([others], "jsonl"))["views"] == {"theirs": {"links": [[1, 2]]}}


def test_arrays_are_read_by_numpy() -> None:
    found = numpy.load(io.BytesIO(written([PAIR, EMPTY], "npz")), allow_pickle=False)
    numpy.testing.assert_array_equal(found["weights_1"], WEIGHTS)
    numpy.testing.assert_array_equal(found["heads_1"], HEADS)
    assert found["target_1"].tolist() == list(PAIR.target) and found["links_2"].shape == (0, 2)
    assert float(found["score_1"]) == -1.5


def test_svg_is_xml_with_text_that_can_be_selected() -> None:
    root = ElementTree.fromstring(written([PAIR, EMPTY], "svg"))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"der", "</script>&", "the", "שלום", "犬"} <= set(texts)
    drawn = written([PAIR, EMPTY], "svg").decode()
    assert drawn.count(f"stroke: {LINK}") == len(LINKS) + 1 and "http://matplotlib" not in drawn


def test_svg_survives_what_xml_cannot_hold() -> None:
    broken = AlignedPair(1, ("a\x00\x0b\ufffe",), ("\ud800",), (Panel("", frozenset({(0, 0)})),))
    root = ElementTree.fromstring(written([broken], "svg"))
    assert "a" in {(element.text or "").strip() for element in root.iter()}


def test_a_page_needs_nothing_else_and_holds_the_weights() -> None:
    page = written([PAIR, EMPTY], "html").decode()
    assert not re.search(r"(src|href)=|https?://|@import|url\(", page)
    data = re.search(r'id="data">(.*?)</script>', page)
    assert data
    first, second = json.loads(data[1])
    assert first["source"] == list(PAIR.source) and second["note"] == "an empty side"
    [panel] = first["panels"]
    assert panel["weights"] == [900, 100, 250, 750, 500, 0] and panel["shape"] == [3, 2]
    levels = numpy.frombuffer(base64.b64decode(panel["heads"]), numpy.uint8).reshape(HEADS.shape)
    numpy.testing.assert_allclose(levels / 255, HEADS, atol=0.002)


@pytest.mark.parametrize(
    ("name", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_matplotlib_draws_pairs_and_views(name: str, begins: bytes) -> None:
    plain = AlignedPair(1, ("a", "$x"), ("b", "c"), (Panel("x", frozenset({(0, 0)})),) * 2)
    drawn = written([plain, EMPTY], name)
    assert drawn.startswith(begins) and drawn == written([plain, EMPTY], name)
    assert undrawable(plain.drawn) == ""
    assert "no font" in undrawable(plain._replace(source=("\U0001f9ff\U000e0041", "b")).drawn)


def test_the_format_follows_from_the_name() -> None:
    assert format_of(Path("x.HTML")) == "html" and format_of(Path("a/b.align")) == "pharaoh"
    with pytest.raises(ModelError, match="a name ending in"):
        format_of(Path("x.doc"))
    with pytest.raises(ModelError, match="picture x.jsonl"):
        format_of(Path("x.jsonl"), pictures=True)
    assert all(known.line or known.document for known in FORMATS.values())
