"""Words coloured by their weight, as running text: HTML, terminal; see `figures` for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from attncli.render.alignment import coloured
from attncli.task.panels import WeightedText, WeightRow, shade
from attncli.terminal.messages import Screen, without_controls

SMALLEST = 0.01  # of a weight that is written as a number in a terminal without colours
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
    """Return a page without scripts, with a section for each text and a tooltip on each word."""
    sections = ""
    for text in texts:
        rows = "".join(_row(text, row) for row in text.rows)
        sections += f"<section>\n<h2>{_escaped(text.title)}</h2>\n{rows}</section>\n"
    return f"{HEAD}{sections}</html>\n".encode("utf-8", "replace")


def _row(text: WeightedText, row: WeightRow) -> str:
    name, words = f"<b>{_escaped(row.name)}</b>" if row.name else "", []
    for word, weight, part in zip(text.words, row.weights, row.shades, strict=True):
        colour = shade(part)
        style = f"background: {colour.code}; color: {'#fff' if colour.dark else '#000'}"
        words.append(f'<span style="{style}" title="{weight:.3f}">{_escaped(word)}</span>')
    return f'<p dir="auto">{name}{" ".join(words)}</p>\n'


def _escaped(text: str) -> str:
    return escape(without_controls(text))


def words_in_colour(text: WeightedText, screen: Screen) -> str:
    """Return a line for each row; the word of largest weight has the strongest colour.

    Without colours, the weight in percent follows each word of at least one percent.
    """
    return "".join(f"{_line(text, row, screen)}\n" for row in text.rows if text.words)


def _line(text: WeightedText, row: WeightRow, screen: Screen) -> str:
    cells = [f"{row.name}:"] if row.name else []
    for word, weight, part in zip(text.words, row.weights, row.shades, strict=True):
        cell = without_controls(word)
        if screen.colours:
            cell = coloured(cell, part, screen)
        elif weight >= SMALLEST:
            cell = f"{cell} ({100 * weight:.0f})"
        cells.append(cell)
    return " ".join(cells)


def written(texts: Sequence[WeightedText], name: str) -> bytes:
    """Return a picture of texts in a format, whose name and limits are those of alignments."""
    if name == "html":
        return html(texts)
    from attncli.render.figures import draw_words

    return draw_words(texts, kind=name)
