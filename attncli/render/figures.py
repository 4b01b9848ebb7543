"""Figures with words of any script, by matplotlib: fonts, labels, and writing as PNG or PDF."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib
from matplotlib.font_manager import FontProperties, findfont, get_font, get_font_names

from attncli.terminal.width import is_right_to_left, without_controls

SHAPES = (3, 11)  # version of matplotlib that supports Arabic shapes and right-to-left text
FONTS = (  # each letter uses the first font that has it
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans JP",
    "Noto Sans SC",
    "IPAGothic",
    "IPAexGothic",
    "TakaoGothic",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Unifont",
    "Hiragino Sans",
    "PingFang SC",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Arial Unicode MS",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
)


def fonts() -> list[str]:
    """Return the installed fonts of FONTS, matplotlib's own first."""
    there = set(get_font_names())
    return [name for name in FONTS if name in there]


def label_of(word: str) -> str:
    """Return a word as matplotlib draws it unchanged: a dollar sign would begin a formula."""
    return without_controls(word).replace("$", r"\$")


def undrawable(words: Sequence[str]) -> str:
    """Return a warning about words that cannot be drawn correctly; empty if there are none."""
    text = "".join(map(without_controls, words))
    if missing := _missing(text):
        return (
            f"no font with the letters {missing[:20]} is known: install one, or write SVG or HTML"
        )
    if is_right_to_left(text) and matplotlib.__version_info__[:2] < SHAPES:
        return "this matplotlib takes right-to-left text apart: use 3.11, or write SVG or HTML"
    return ""


def saved(figure: Any, kind: str) -> bytes:
    """Return a figure as a PNG, SVG or PDF file; equal figures give equal files."""
    buffer = io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with without_glyph_warnings(), matplotlib.rc_context({"svg.hashsalt": "attn"}):
        figure.savefig(buffer, format=kind, dpi=150, metadata=undated)
    return buffer.getvalue()


@contextlib.contextmanager
def without_glyph_warnings() -> Iterator[None]:
    """Suppress matplotlib's warning for each missing letter; `undrawable` gives one for all."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        yield


def _missing(text: str) -> str:
    """Return the letters that no installed font can draw."""
    letters = set(text)
    for name in fonts():
        known = get_font(findfont(FontProperties(family=name))).get_charmap()
        letters = {letter for letter in letters if ord(letter) not in known}
    return "".join(sorted(letter for letter in letters if not letter.isspace()))
