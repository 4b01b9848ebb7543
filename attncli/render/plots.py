"""Plots drawn by matplotlib, which is imported only when a plot is drawn.

The suffix of the file selects PNG, SVG or PDF. The file is written atomically. No window is opened.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from models.core.errors import ModelError
from models.core.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = "osD^vPX"
DEV_SCORES = {"bleu": "BLEU", "accuracy": "accuracy"}  # record in the log: name in the plot


class Curve(NamedTuple):
    """A named series of points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


class Bar(NamedTuple):
    """Number of sentences with a length between two edges."""

    left: float
    right: float
    height: float


class Strip(NamedTuple):
    """A panel of points: the values of each row, under one name."""

    name: str
    values: Sequence[Sequence[float]]


def check_picture(path: Path) -> None:
    """Raise ModelError if the suffix of a file is not one of FORMATS."""
    if path.suffix.lower() not in FORMATS:
        raise ModelError(f"picture {path}", f"a name ending in {', '.join(FORMATS)}")


def bleu_by_length(path: Path, curves: Sequence[Curve], bars: Sequence[Bar] = ()) -> None:
    """Plot BLEU over source length, a curve per system; bars show the number of sentences.

    Source: Bahdanau et al. 2015, Figure 2.
    """
    figure = new_figure(width=6.4)
    axes = figure.subplots()
    for number, curve in enumerate(curves):
        _line(axes, curve, number, marker=MARKERS[number % len(MARKERS)])
    _name(axes, "source length (words)", "BLEU")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    if bars:
        _behind(axes, bars)
    if len(curves) > 1:
        axes.legend(frameon=False)
    save_figure(figure, path)


def curves(path: Path, history: Iterable[Mapping[str, object]]) -> None:
    """Plot loss and dev score over training steps, from the records of the log.

    Both losses are negative log-likelihoods without label smoothing; records of the training are
    means over the updates since the record before.
    If a step was logged twice (by a run that was killed and resumed), the last record counts.
    """
    records = list(history)
    loss = [_curve("training", records, "train", "nll"), _curve("dev", records, "dev", "loss")]
    scores = {name: _curve("dev", records, "dev", key) for key, name in DEV_SCORES.items()}
    name, score = next(((n, c) for n, c in scores.items() if c.x), ("", Curve("", (), ())))
    figure = new_figure(width=10.0 if score.x else 6.4)
    panels = figure.subplots(1, 2 if score.x else 1, squeeze=False)[0]
    for number, curve in enumerate(loss):
        if curve.x:
            _line(panels[0], curve, number, marker="o" if curve.name == "dev" else "")
    _name(panels[0], "update", "negative log-likelihood (nats per token)")
    if any(curve.x for curve in loss):
        panels[0].legend(frameon=False)
    if score.x:
        _line(panels[1], score, 1, marker="o")
        _name(panels[1], "update", f"dev {name}")
        value, step = max((y, -x) for x, y in zip(score.x, score.y, strict=True))  # the best
        place = {"textcoords": "offset points", "xytext": (0, 6), "ha": "center"}
        panels[1].annotate(f"{value:.2f}", (-step, value), **place)
    save_figure(figure, path)


def variant_curves(path: Path, logs: Mapping[str, Sequence[Mapping[str, object]]]) -> None:
    """Plot dev loss and dev score of several runs over training steps, a curve per run.

    logs: the records of each run by its name.
    """
    every = [record for records in logs.values() for record in records]
    scores = [key for key in DEV_SCORES if _curve("", every, "dev", key).x][:1]
    figure = new_figure(width=6.4 + 4.6 * len(scores), height=4.8)
    panels = figure.subplots(1, 1 + len(scores), squeeze=False)[0]
    for axes, key in zip(panels, ("loss", *scores), strict=True):
        for number, (name, records) in enumerate(logs.items()):
            marker = MARKERS[number // len(COLOURS) % len(MARKERS)]
            _line(axes, _curve(name, records, "dev", key), number, marker=marker)
        _name(axes, "update", f"dev {DEV_SCORES.get(key, 'loss (nats per token)')}")
    panels[-1].legend(frameon=False, fontsize="small")
    save_figure(figure, path)


def strips(path: Path, rows: Sequence[str], panels: Sequence[Strip], title: str) -> None:
    """Plot named rows: a dot for each value, a stroke at their mean; panels side by side."""
    width = 2.0 + 2.8 * len(panels)
    lines = [part for line in title.splitlines() for part in textwrap.wrap(line, int(14 * width))]
    figure = new_figure(width=width, height=1.3 + 0.3 * len(rows) + 0.15 * len(lines))
    figure.suptitle("\n".join(lines), fontsize="small")
    shared = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for number, (axes, panel) in enumerate(zip(shared, panels, strict=True)):
        for row, values in enumerate(panel.values):
            axes.plot(values, [row] * len(values), "o", color=COLOURS[number], markersize=4)
            if values:
                axes.plot(sum(values) / len(values), row, "|", color="black", markersize=12)
        axes.set_xlabel(panel.name)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    shared[0].set_yticks(range(len(rows)), rows)
    shared[0].set_ylim(len(rows) - 0.5, -0.5)  # the first row is at the top
    save_figure(figure, path)


def _curve(name: str, records: Sequence[Mapping[str, object]], event: str, key: str) -> Curve:
    pairs = ((one.get("step"), one.get(key)) for one in records if one.get("event") == event)
    points = {
        step: float(value)
        for step, value in pairs
        if isinstance(step, int | float) and isinstance(value, int | float)
    }
    finite = sorted((step, value) for step, value in points.items() if math.isfinite(value))
    return Curve(name, [step for step, _ in finite], [value for _, value in finite])


def new_figure(*, width: float, height: float = 4.0) -> Figure:
    """Return an empty figure. width, height: in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _line(axes: Axes, curve: Curve, number: int, *, marker: str) -> None:
    axes.plot(
        curve.x,
        curve.y,
        label=curve.name,
        color=COLOURS[number % len(COLOURS)],
        marker=marker,
        markersize=4,
        linewidth=1.5,
    )


def _name(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.locator_params(axis="x", integer=True)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _behind(axes: Axes, bars: Sequence[Bar]) -> None:
    """Draw bars behind the curves, with a separate axis at the right."""
    counts = axes.twinx()
    for bar in bars:
        width = bar.right - bar.left
        counts.bar(bar.left, bar.height, width, align="edge", color="#e4e4e4", edgecolor="white")
    counts.set_ylabel("sentences", color="#808080")
    counts.tick_params(colors="#808080")
    counts.spines[["top", "left"]].set_visible(False)
    counts.set_ylim(top=2.5 * max(bar.height for bar in bars))
    axes.set_zorder(counts.get_zorder() + 1)
    axes.patch.set_visible(False)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the suffix of its file."""
    from attncli.render.figures import saved

    check_picture(path)
    write_bytes(path, saved(figure, path.suffix.lower().removeprefix(".")))
