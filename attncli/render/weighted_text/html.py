"""Coloured words as one HTML page, without scripts, that loads nothing from other files."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from attncli.data.weighted_text import WeightedText, WeightRow
from attncli.render.alignment.shades import shade
from attncli.terminal.width import without_controls

HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Words and their weights</title>
<style>
body { font: 16px/1.9 "Noto Sans", "DejaVu Sans", system-ui, sans-serif; color: #222;
  background: #fff; margin: 0 auto; max-width: 60rem; padding: 1rem 1.5rem 4rem; }
section { padding: .8rem 0; border-bottom: 1px solid #e4e4e4; }
h2 { font-size: .9em; font-weight: normal; color: #777; margin: 0; }
p { margin: .2rem 0; }
b { color: #777; font-weight: normal; font-size: .9em; margin-right: .6em; }
p span { padding: .1em .25em; border-radius: 4px; }
</style>
"""


def html(texts: Sequence[WeightedText]) -> bytes:
    """Return a page with a section for each text; the tooltip of a word is its weight."""
    sections = ""
    for text in texts:
        rows = "".join(_row(text, row) for row in text.rows)
        sections += f"<section>\n<h2>{_safe(text.title)}</h2>\n{rows}</section>\n"
    return f"{HEAD}{sections}</html>\n".encode("utf-8", "replace")


def _row(text: WeightedText, row: WeightRow) -> str:
    name = f"<b>{_safe(row.name)}</b>" if row.name else ""
    cells = zip(text.words, row.weights, row.shades, strict=True)
    return f'<p dir="auto">{name}{" ".join(_word(*cell) for cell in cells)}</p>\n'


def _word(word: str, weight: float, part: float) -> str:
    colour = shade(part)
    style = f"background: {colour.code}; color: {'#fff' if colour.dark else '#000'}"
    return f'<span style="{style}" title="{weight:.3f}">{_safe(word)}</span>'


def _safe(text: str) -> str:
    return escape(without_controls(text))
