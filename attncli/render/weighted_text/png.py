"""Coloured words as PNG or PDF, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from attncli.data.weighted_text import WeightedText
from attncli.render.alignment.shades import shade
from attncli.render.figures import fonts, label_of, saved, without_glyph_warnings
from attncli.render.weighted_text.layout import Measures, laid_out

SIZE, INCH = 11, 72  # points: letters, an inch
SIZES = Measures(line=20.0, room=560.0, gap=6.0, margin=12.0, name=48.0)  # points


def png(texts: Sequence[WeightedText], *, kind: str = "png") -> bytes:
    """Draw texts, one under another. kind: png or pdf."""
    with matplotlib.rc_context({"font.family": fonts(), "font.size": SIZE}):
        placed, end = laid_out(texts, [_widths(text.words) for text in texts], SIZES)
        height, across = end + SIZES.margin, 2 * SIZES.margin + SIZES.name + SIZES.room
        figure = Figure(figsize=(across / INCH, height / INCH))
        for one in placed:
            style: dict[str, Any] = {"color": "#777777"}
            if one.shade is not None:
                colour = shade(one.shade)
                box = {"boxstyle": "round,pad=0.15", "facecolor": colour.code, "edgecolor": "none"}
                style = {"color": "white" if colour.dark else "black", "bbox": box}
            middle = 1 - (one.top + SIZES.line / 2) / height
            label = label_of(one.text)
            figure.text(one.x / across, middle, label, va="center_baseline", **style)
        return saved(figure, kind)


def _widths(words: Sequence[str]) -> list[float]:
    """Return the widths of some words in points."""
    figure = Figure()
    canvas: Any = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    texts = [figure.text(0, 0, label_of(word)) for word in words]
    with without_glyph_warnings():
        return [text.get_window_extent(renderer).width * INCH / figure.dpi for text in texts]
