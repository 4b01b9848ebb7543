"""Alignments as PNG or PDF, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attncli.data.panels import AlignedPair, Panel
from attncli.render.alignment.shades import LINK, shade
from attncli.render.figures import fonts, label_of, saved
from attncli.terminal.width import without_controls

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL = 0.32  # inches


def png(pairs: Sequence[AlignedPair], *, kind: str = "png") -> bytes:
    """Draw all pairs, one under another, their panels side by side. kind: png or pdf."""
    drawn = [pair for pair in pairs if pair.source and pair.target]
    panels = max((len(pair.panels) for pair in drawn), default=1)
    across = max((CELL * (len(pair.source) + 6) for pair in drawn), default=4.0)
    heights = [CELL * (len(pair.target) + 5) for pair in drawn] or [1.0]
    with matplotlib.rc_context({"font.family": fonts()}):
        figure = Figure(figsize=(across * panels, sum(heights)), layout="constrained")
        grid = figure.subplots(
            len(heights), panels, squeeze=False, gridspec_kw={"height_ratios": heights}
        )
        for axes in grid.flat:
            axes.set_axis_off()
        for row, pair in zip(grid, drawn, strict=False):
            for axes, panel in zip(row, pair.panels, strict=False):
                _panel(axes, pair, panel)
        return saved(figure, kind)


def _panel(axes: Axes, pair: AlignedPair, panel: Panel) -> None:
    axes.set_axis_on()
    rows = range(len(pair.target))
    image = [
        [tuple(part / 255 for part in shade(panel.weight(i, j))) for i in range(len(pair.source))]
        for j in rows
    ]
    axes.imshow(image, aspect="equal", interpolation="nearest")
    for i, j in panel.links:
        corner = (i - 0.42, j - 0.42)
        axes.add_patch(Rectangle(corner, 0.84, 0.84, fill=False, edgecolor=LINK, linewidth=1.5))
    axes.set_xticks(range(len(pair.source)), [label_of(word) for word in pair.source], rotation=55)
    axes.set_yticks(rows, [label_of(word) for word in pair.target])
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    for label in axes.get_xticklabels():
        label.set(ha="left", rotation_mode="anchor")
    axes.spines[:].set_color("#cccccc")
    if panel.name:
        axes.set_xlabel(without_controls(panel.name))
