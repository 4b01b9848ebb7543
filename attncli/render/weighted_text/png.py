"""Coloured words as PNG or PDF, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from attncli.data.weighted_text import WeightedText, WeightRow
from attncli.render.alignment.shades import shade
from attncli.render.figures import fonts, label_of, saved, without_glyph_warnings
from attncli.render.weighted_text.layout import line_count, placed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE, LINE, ROOM, GAP = 11, 20.0, 560.0, 6.0  # points: letters, a line's height and width, a space
MARGIN, NAME = 12.0, 48.0  # points: around the text, and for the name of a head
INCH = 72  # points
GREY = "#777777"


def png(texts: Sequence[WeightedText], *, kind: str = "png") -> bytes:
    """Draw texts, one under another. kind: png or pdf."""
    with matplotlib.rc_context({"font.family": fonts(), "font.size": SIZE}):
        widths = [_widths(text.words) for text in texts]
        lines = [
            line_count(sizes, GAP, ROOM) * len(text.rows)
            for text, sizes in zip(texts, widths, strict=True)
        ]
        height = 2 * MARGIN + LINE * sum(count + 1.5 for count in lines)
        across = 2 * MARGIN + NAME + ROOM
        figure = Figure(figsize=(across / INCH, height / INCH))
        page = Page(figure, across, height)
        top = MARGIN
        for text, sizes in zip(texts, widths, strict=True):
            page.write(MARGIN, top, text.title, color=GREY)
            top += LINE
            for row in text.rows:
                top = page.row(text, row, sizes, top)
            top += LINE / 2
        return saved(figure, kind)


class Page:
    """A figure whose positions are points from its upper left corner."""

    def __init__(self, figure: Figure, width: float, height: float) -> None:
        self.figure, self.width, self.height = figure, width, height

    def write(self, x: float, top: float, text: str, **style: Any) -> None:
        """Write text in the line that begins at `top`."""
        middle = 1 - (top + LINE / 2) / self.height
        self.figure.text(x / self.width, middle, label_of(text), va="center_baseline", **style)

    def row(self, text: WeightedText, row: WeightRow, widths: Sequence[float], top: float) -> float:
        """Write the words of a row on their colours; return where the next row begins."""
        left = MARGIN
        if row.name:
            self.write(left, top, row.name, color=GREY)
            left += NAME
        places = placed(widths, GAP, ROOM)
        for word, part, place in zip(text.words, row.shades, places, strict=True):
            colour = shade(part)
            box = {"boxstyle": "round,pad=0.15", "facecolor": colour.code, "edgecolor": "none"}
            ink = "white" if colour.dark else "black"
            self.write(left + place.x, top + place.line * LINE, word, color=ink, bbox=box)
        return top + LINE * line_count(widths, GAP, ROOM)


def _widths(words: Sequence[str]) -> list[float]:
    """Return the widths of some words in points."""
    figure = Figure()
    canvas: Any = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    texts = [figure.text(0, 0, label_of(word)) for word in words]
    with without_glyph_warnings():
        return [text.get_window_extent(renderer).width * INCH / figure.dpi for text in texts]
