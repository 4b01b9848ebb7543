"""Alignments and coloured words, in a terminal and in files: what is drawn is what was given."""

from __future__ import annotations

import base64
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from unicodedata import category

import numpy
import pytest

from attncli.data.alignments import read_links
from attncli.render import weighted_text
from attncli.render.alignment import FORMATS, format_of, heat_maps, written
from attncli.render.figures import undrawable
from attncli.task.panels import LINK, AlignedPair, WeightedText, WeightRow, shade
from attncli.terminal.messages import TRUE_COLOUR, Screen, fitted, padded, width, without_controls
from models.core.errors import ModelError
from models.text.alignment import Alignment

WEIGHTS = numpy.array([[0.9, 0.1], [0.25, 0.75], [0.5, 0.0]])
HEADS = numpy.stack([numpy.stack([WEIGHTS, 1 - WEIGHTS])] * 3)  # (3, 2, J, I)
LINKS, ONE_LINK = frozenset({(1, 1), (0, 0), (0, 2)}), frozenset({(1, 2)})
SIDES = ("der", "</script>&"), ("the", "שלום", "犬")
OURS = Alignment(*SIDES, WEIGHTS, LINKS, score=-1.5, name="ours", heads=HEADS)
PAIR = AlignedPair(1, (OURS,))
EMPTY = AlignedPair(2, (Alignment((), (), name="ours"),), note="an empty side")


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
    others = replace(PAIR, panels=(OURS, Alignment(*SIDES, None, ONE_LINK, name="theirs")))
    assert json.loads(written([others], "jsonl"))["views"] == {"theirs": {"links": [[1, 2]]}}


def test_arrays_are_read_by_numpy() -> None:
    found = numpy.load(io.BytesIO(written([PAIR, EMPTY], "npz")), allow_pickle=False)
    numpy.testing.assert_array_equal(found["weights_1"], WEIGHTS)
    numpy.testing.assert_array_equal(found["heads_1"], HEADS)
    assert found["target_1"].tolist() == list(PAIR.target) and found["links_2"].shape == (0, 2)
    assert float(found["score_1"]) == -1.5


def test_arrays_have_every_model_and_are_accepted_where_they_can_be_written() -> None:
    both = replace(PAIR, panels=(OURS, OURS._replace(weights=1 - WEIGHTS)))
    found = numpy.load(io.BytesIO(written([both], "npz")), allow_pickle=False)
    numpy.testing.assert_array_equal(found["weights_1_2"], 1 - WEIGHTS)
    assert format_of(Path("w.npz"), pictures=True, arrays=True) == "npz"
    with pytest.raises(ModelError, match="picture w.npz"):
        format_of(Path("w.npz"), pictures=True)


def test_svg_is_xml_with_text_that_can_be_selected() -> None:
    root = ElementTree.fromstring(written([PAIR, EMPTY], "svg"))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"der", "</script>&", "the", "שלום", "犬"} <= set(texts)
    drawn = written([PAIR, EMPTY], "svg").decode()
    assert drawn.count(f"stroke: {LINK}") == len(LINKS) + 1 and "http://matplotlib" not in drawn


def test_svg_survives_what_xml_cannot_hold() -> None:
    units = ("a\x00\x0b\ufffe",), ("\ud800",)
    broken = AlignedPair(1, (Alignment(*units, None, frozenset({(0, 0)})),))
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
    one = Alignment(("a", "$x"), ("b", "c"), None, frozenset({(0, 0)}), name="x")
    plain = AlignedPair(1, (one, one))
    drawn = written([plain, EMPTY], name)
    assert drawn.startswith(begins) and drawn == written([plain, EMPTY], name)
    assert undrawable(plain.drawn) == ""
    rare = one._replace(source=("\U0001f9ff\U000e0041", "b"))
    assert "no font" in undrawable(AlignedPair(1, (rare,)).drawn)


def test_the_format_follows_from_the_name() -> None:
    assert format_of(Path("x.HTML")) == "html" and format_of(Path("a/b.align")) == "pharaoh"
    with pytest.raises(ModelError, match="a name ending in"):
        format_of(Path("x.doc"))
    with pytest.raises(ModelError, match="picture x.jsonl"):
        format_of(Path("x.jsonl"), pictures=True)
    assert all(known.line or known.document for known in FORMATS.values())


ESCAPE = re.compile("\x1b\\[[0-9;]*m")


def pair(source: str, target: str, *, views: int = 1, named: bool = False) -> AlignedPair:
    units = tuple(source.split()), tuple(target.split())
    weights = numpy.zeros((len(units[1]), len(units[0])))
    links = {(j % len(units[0]), j) for j in range(len(units[1]))}
    for i, j in links:
        weights[j, i] = 0.75
    names = [f"view {n}" if named else "" for n in range(views)]
    found = Alignment(*units, weights, frozenset(links))
    return AlignedPair(1, tuple(found._replace(name=name) for name in names))


def test_a_small_pair_by_hand() -> None:
    drawn = heat_maps(pair("le chaton", "the cat"), Screen(40))
    assert drawn.splitlines() == [
        "1",
        "    le",
        "    │    chaton",
        "the [ 75]   ·",
        "cat    · [ 75]",
        "",
    ]
    narrow = heat_maps(pair("le chaton", "the cat"), Screen(14))
    assert narrow.splitlines()[1:5] == ["    le", "    │ chaton", "the ▓*·", "cat · ▓*"]
    short = heat_maps(pair("le chat", "the cat"), Screen(40))
    assert short.splitlines()[1:3] == ["      le chat", "the [ 75]   ·"]


@pytest.mark.parametrize("columns", [20, 33, 60, 100])
@pytest.mark.parametrize(
    "texts",
    [
        ("犬 は 小さな 家 を 見る 。", "a small house"),
        ("dog " * 30, "犬 家"),
        ("אני רואה בית", "i see a house שלום"),
        ("y", "ein einziger Zeilenanfang von Donaudampfschifffahrtsgesellschaften"),
    ],
)
def test_no_line_is_wider_than_the_screen(columns: int, texts: tuple[str, str]) -> None:
    for colour in (False, True):
        drawn = heat_maps(pair(*texts, views=2, named=True), Screen(columns, colour))
        lines = [ESCAPE.sub("", line) for line in drawn.splitlines()]
        assert max(map(width, lines)) <= columns


def test_every_source_word_is_there_however_narrow_the_screen() -> None:
    words = [f"word{number}" for number in range(40)]
    drawn = heat_maps(pair(" ".join(words), "a b c"), Screen(30))
    assert re.findall(r"word\d+", drawn) == words


def test_cells_stand_in_columns_beside_wide_letters() -> None:
    drawn = heat_maps(pair("a b c", "犬 house été"), Screen(60)).splitlines()[2:5]
    assert {width(line[: line.index("[")]) for line in drawn} == {6, 11, 16}


def test_right_to_left_words_are_isolated() -> None:
    [line] = [row for row in heat_maps(pair("a", "שלום"), Screen(60)).splitlines() if "[" in row]
    assert line == "\u200e\u2068שלום\u2069 [ 75]"


def test_colour_only_where_it_is_wanted() -> None:
    assert "\x1b" not in heat_maps(pair("a b", "c d"), Screen(60))
    coloured = heat_maps(pair("a b", "c d"), Screen(60, TRUE_COLOUR))
    assert "\x1b[" in coloured
    assert ESCAPE.sub("", coloured) == heat_maps(pair("a b", "c d"), Screen(60))


def test_words_cannot_steer_the_terminal() -> None:
    drawn = heat_maps(AlignedPair(1, (Alignment(("a\x1b[31m",), ("\u202eb",)),)))
    assert "\x1b" not in drawn and "\u202e" not in drawn


def test_empty_sides_and_notes() -> None:
    assert heat_maps(AlignedPair(7, (Alignment((), ("a",)),), note="none")) == "7  none\n\n"


def test_widths_of_text() -> None:
    assert [width(text) for text in ("abc", "犬", "e\u0301", "👩\u200d👧", "ｱ", "☺\ufe0f")] == [
        3, 2, 1, 2, 1, 2,
    ]  # fmt: skip
    assert [fitted("abcdef", 4), fitted("犬犬犬", 4), fitted("ab", 2)] == ["abc…", "犬…", "ab"]
    assert padded("犬", 4) == "犬  " and padded("ab", 4, right=True) == "  ab"
    assert all(category(c) not in ("Cc", "Cf") for c in without_controls("a\x00\u200fb\tc"))


ONE = WeightedText(3, ("play", "<jazz>", "&"), (WeightRow("", (0.2, 0.4, 0.0)),), "music (98 %)")
BOTH = ONE._replace(rows=(WeightRow("head 1", (1.0, 0, 0)), WeightRow("head 2", (0, 0, 1.0))))
SVG = "{http://www.w3.org/2000/svg}"


def test_an_svg_is_well_formed_and_holds_the_words_in_order() -> None:
    root = ElementTree.fromstring(weighted_text.written([ONE, BOTH], "svg"))
    heads = [*("head 1", *ONE.words), *("head 2", *ONE.words)]
    expected = ["3  music (98 %)", *ONE.words, "3  music (98 %)", *heads]
    assert [text.text for text in root.iter(f"{SVG}text")] == expected


def test_a_page_escapes_words_and_has_their_weights() -> None:
    page = weighted_text.written([BOTH], "html").decode()
    assert page.count("&lt;jazz&gt;") == 2 and "<jazz>" not in page
    assert "<b>head 2</b>" in page and 'title="1.000">play' in page


@pytest.mark.parametrize("name", ["svg", "html", "png", "pdf"])
def test_a_line_without_a_label_is_drawn_as_its_note(name: str) -> None:
    refused = WeightedText(2, (), (), note="line 2 is not valid UTF-8")
    content = weighted_text.written([ONE, refused], name)
    begin = {"png": b"\x89PNG", "pdf": b"%PDF"}.get(name)
    assert content.startswith(begin) if begin else b"line 2 is not valid UTF-8" in content


def test_letters_without_a_font_are_reported() -> None:
    rare = ONE._replace(words=("\U00012000", "a", "b"))
    assert "no font with the letters" in undrawable(rare.drawn)
    assert weighted_text.written([rare], "png")


def test_a_word_that_does_not_fit_begins_a_new_line() -> None:
    text = WeightedText(1, ("WORD",) * 40, (WeightRow("", (1.0,) * 40),))
    root = ElementTree.fromstring(weighted_text.written([text], "svg"))
    _, _, right, bottom = map(float, root.attrib["viewBox"].split())
    _, *words = root.iter(f"{SVG}text")
    found = [(float(one.attrib["x"]), float(one.attrib["y"])) for one in words]
    lines = sorted({y for _, y in found})
    assert len(found) == 40 and found == sorted(found, key=lambda one: (one[1], one[0]))
    assert 1 < len(lines) < 6 and len({x for x, _ in found}) < 40
    assert all(0 <= x < right and 0 < y < bottom for x, y in found)


def test_the_heaviest_word_has_the_darkest_colour() -> None:
    expected = [shade(part).code for part in (0.5, 1.0, 0.0)]
    page = weighted_text.written([ONE], "html").decode()
    assert re.findall(r"background: (#\w+); color", page) == expected
    drawn = weighted_text.written([ONE], "svg").decode()
    assert [drawn.count(f"fill: {code}") for code in expected[:2]] == [1, 1]
