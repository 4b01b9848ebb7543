"""Images of image attention show what the maps say, in every kind of file."""

from __future__ import annotations

import base64
import html
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from attncli.render.image_maps import (
    DARK,
    SHADES,
    WRITERS,
    AttentionMaps,
    fault,
    figure,
    highlighted,
    maps_as_text,
    mean_overlap,
)
from attncli.terminal.messages import Screen

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ("dog", "<b>red</b>", "円", "sky")


def one_cell(row: int, column: int) -> np.ndarray:
    found = np.zeros((4, 4), np.float32)
    found[row, column] = 1
    return found


MAPS = np.stack([one_cell(0, 0), one_cell(3, 3), one_cell(0, 3), np.full((4, 4), 1 / 16)])
MAPS = MAPS.astype(np.float32)
GATES = np.array([0.25, 0.5, 0.75, 1.0], np.float32)
ENTROPY = np.array([0, 0, 0, np.log(16)], np.float32)
PIXELS = np.random.default_rng(1).integers(0, 255, (32, 32, 3), np.uint8)
ATTENTION = AttentionMaps(
    "dogs & cats.jpg", Image.fromarray(PIXELS), WORDS, MAPS, GATES, ENTROPY, "hard argmax"
)


def without_colour(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def width(line: str) -> int:
    return sum(2 if letter == "円" else 1 for letter in line)


def test_attended_cells_are_unchanged_and_the_rest_dark_and_grey() -> None:
    everywhere = np.asarray(highlighted(ATTENTION, 3, (32, 32)))
    assert np.array_equal(everywhere, PIXELS)
    corner = np.asarray(highlighted(ATTENTION, 0, (32, 32)))
    assert np.array_equal(corner[0, 0], PIXELS[0, 0])
    far = corner[31, 31]
    assert far.max() == far.min() < DARK * 255


def test_sameness_is_the_share_of_attention_that_stays() -> None:
    assert mean_overlap(np.stack([MAPS[0]] * 5)) == pytest.approx(1)
    assert mean_overlap(MAPS[:2]) == pytest.approx(0.5)
    assert mean_overlap(MAPS[:3]) == pytest.approx(1 / 3)
    assert mean_overlap(MAPS[:0]) == 0


def test_hard_attention_is_drawn_by_its_largest_cell_and_stored_as_it_is() -> None:
    soft = (MAPS + 0.01) / (MAPS + 0.01).sum((1, 2), keepdims=True)
    hard = ATTENTION._replace(maps=soft, read="hard expected", hard=True)
    assert np.array_equal(np.stack([hard.drawn(word) for word in range(3)]), MAPS[:3])
    assert np.array_equal(hard._replace(hard=False).drawn(0), soft[0])
    assert "hard expected attention, drawn by argmax" in maps_as_text(hard, Screen(80))
    assert "H entropy of the expectation" in maps_as_text(hard, Screen(80))
    assert "of the expectation" not in maps_as_text(ATTENTION, Screen(80))
    stored = np.load(io.BytesIO(WRITERS[".npz"](hard)))
    assert np.array_equal(stored["maps"], soft)


def test_a_word_that_names_nothing_is_drawn_pale() -> None:
    pale = ATTENTION._replace(words=("of", *WORDS[1:]))
    for word in range(len(WORDS)):
        one, other = (np.asarray(highlighted(each, word, (32, 32))) for each in (ATTENTION, pale))
        assert (other >= one).all() and bool((other > one).any()) == (word == 0)
    screens = [maps_as_text(each, Screen(40)) for each in (ATTENTION, pale)]
    assert screens[0].count(SHADES[-1]) > screens[1].count(SHADES[-1])


def test_a_drawing_has_a_panel_for_each_word_the_scale_and_the_name_of_the_model() -> None:
    named = ATTENTION._replace(model="photos")
    root = ElementTree.fromstring(WRITERS[".svg"](named))
    texts = [one.text or "" for one in root.iter(f"{SVG}text")]
    assert {*WORDS, ATTENTION.caption, "weight 0"} < {*texts}
    assert any(text.endswith("photos, hard argmax attention") for text in texts)
    assert len([*root.iter(f"{SVG}image")]) == len(WORDS) + 1  # the image itself
    content = WRITERS[".png"](named)
    assert content == WRITERS[".png"](named) != WRITERS[".png"](ATTENTION)
    shown = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), np.int16)
    dark = (shown.max(2) < DARK * 256).mean()  # three words looked at a corner
    assert dark > 3 * 0.6 * 224 * 224 / shown[..., 0].size


@pytest.mark.parametrize("count", [0, 1, 7, 13])
def test_any_number_of_words_can_be_drawn(count: int) -> None:
    words = tuple("x" * (n % 30 + 1) for n in range(count))
    maps = np.random.default_rng(1).random((count, 7, 7)).astype(np.float32)
    attention = AttentionMaps(
        "x", ATTENTION.image, words, maps, None, np.zeros(count, np.float32), "soft"
    )
    for write in WRITERS.values():
        assert write(attention)
    assert "β" not in maps_as_text(attention, Screen(80))


def test_arrays_come_back_without_pickle() -> None:
    found = np.load(io.BytesIO(WRITERS[".npz"](ATTENTION)), allow_pickle=False)
    assert np.array_equal(found["image"], PIXELS) and np.array_equal(found["maps"], MAPS)
    assert np.array_equal(found["gates"], GATES) and np.array_equal(found["entropy"], ENTROPY)
    assert tuple(found["words"]) == WORDS
    assert (str(found["read"]), str(found["name"])) == ("hard argmax", ATTENTION.name)


def text_of(page: str) -> str:
    return html.unescape(re.sub("<[^<>]*>", "", page))


def test_a_page_needs_no_other_file() -> None:
    content = WRITERS[".html"](ATTENTION).decode()
    sources = re.findall(r'(?:src|href)="([^"]*)"', content)
    assert all(source.startswith("data:image/") for source in sources)
    assert not re.search(r"<script|<link|<b>|url\(", content)
    assert len(sources) == 1 + len(WORDS)
    assert "<b>red</b>" in text_of(content)
    assert "hard argmax" in content and "β 0.25  H 0.00" in content
    for source, kind in zip(sources, ["JPEG", *["PNG"] * 4], strict=True):
        image = Image.open(io.BytesIO(base64.b64decode(source.partition("base64,")[2])))
        assert image.format == kind
    shade = np.asarray(image)[..., 1]  # of the last word, which looked everywhere
    assert image.mode == "LA" and not shade.any()


def test_a_page_has_other_captions_and_faults() -> None:
    assert "a &lt;dog&gt; <i>-1.5000</i>" in figure(ATTENTION, [("a <dog>", -1.5)])
    assert text_of(fault("x<y.jpg", "no file x<y.jpg")) == "x<y.jpgno file x<y.jpg\n"


@pytest.mark.parametrize("colours", [0, 256, 1 << 24])
@pytest.mark.parametrize("columns", [10, 20, 40, 79, 80, 200])
def test_the_terminal_is_never_too_narrow(columns: int, colours: int) -> None:
    drawn = maps_as_text(ATTENTION, Screen(columns, colours))
    *lines, note = without_colour(drawn).splitlines()
    assert max(map(width, lines)) <= columns
    assert note == "β gate, H entropy in nats; hard argmax attention"
    assert ("\x1b[" in drawn) == bool(colours)
    assert ("\x1b[38;2;" in drawn) == (colours > 256)
    assert "円" in drawn


def test_shades_are_dark_where_the_word_looked() -> None:
    attention = ATTENTION._replace(
        words=("corner",), maps=MAPS[:1], gates=None, entropy=ENTROPY[:1]
    )
    lines = maps_as_text(attention, Screen(32)).splitlines()
    assert lines[0].startswith(SHADES[-1]) and set(lines[-4]) <= {" "}
    assert [line.strip() for line in lines[-3:-1]] == ["corner", "H 0.00"]


def test_the_256_colours_are_near_the_24_bit_ones() -> None:
    flat = ATTENTION._replace(
        image=Image.new("RGB", (8, 8), (255, 0, 102)), maps=MAPS[3:], words=("x",)
    )
    assert "38;5;198" in maps_as_text(flat, Screen(40, 256))  # 16 + 36 * 5 + 6 * 0 + 2
    assert "48;2;255;0;102" in maps_as_text(flat, Screen(40, 1 << 24))
