"""Alignments as PNG or PDF, by matplotlib."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attncli.data.panels import AlignedPair, Panel
from attncli.render.alignment.shades import LINK, shade
from attncli.render.width import is_right_to_left, without_controls

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL = 0.32  # inches
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


def png(pairs: Sequence[AlignedPair], *, kind: str = "png") -> bytes:
    """Draw all pairs, one under another, their panels side by side. kind: png or pdf."""
    import matplotlib
    from matplotlib.figure import Figure

    drawn = [pair for pair in pairs if pair.source and pair.target]
    panels = max((len(pair.panels) for pair in drawn), default=1)
    across = max((_room(pair.source) + 6 * CELL for pair in drawn), default=4.0)
    heights = [_room(pair.target) + 5 * CELL for pair in drawn] or [1.0]
    with matplotlib.rc_context({"font.family": _fonts(), "svg.hashsalt": "attn"}):
        figure = Figure(figsize=(across * panels, sum(heights)), layout="constrained")
        grid = figure.subplots(
            len(heights), panels, squeeze=False, gridspec_kw={"height_ratios": heights}
        )
        for axes in grid.flat:
            axes.set_axis_off()
        for row, pair in zip(grid, drawn, strict=False):
            for axes, panel in zip(row, pair.panels, strict=False):
                _panel(axes, pair, panel)
        return _saved(figure, kind)


def trouble(pairs: Sequence[AlignedPair]) -> str:
    """Return a warning about words that cannot be drawn correctly; empty if there are none."""
    import matplotlib

    words = "".join(
        without_controls(word) for pair in pairs for word in (*pair.source, *pair.target)
    )
    if missing := _missing(words):
        return (
            f"no font with the letters {missing[:20]} is known: install one, or write SVG or HTML"
        )
    if is_right_to_left(words) and matplotlib.__version_info__[:2] < SHAPES:
        return "this matplotlib takes right-to-left text apart: use 3.11, or write SVG or HTML"
    return ""


def _missing(text: str) -> str:
    """Return the letters that no installed font can draw."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    letters = set(text)
    for name in _fonts():
        known = get_font(findfont(FontProperties(family=name))).get_charmap()
        letters = {letter for letter in letters if ord(letter) not in known}
    return "".join(sorted(letter for letter in letters if not letter.isspace()))


def _panel(axes: Axes, pair: AlignedPair, panel: Panel) -> None:
    axes.set_axis_on()
    rows = range(len(pair.target))
    image = [
        [tuple(part / 255 for part in shade(panel.weight(i, j))) for i in range(len(pair.source))]
        for j in rows
    ]
    axes.imshow(image, aspect="equal", interpolation="nearest")
    for i, j in panel.links:
        axes.add_patch(_frame(i, j))
    axes.set_xticks(range(len(pair.source)), [_label(word) for word in pair.source], rotation=55)
    axes.set_yticks(rows, [_label(word) for word in pair.target])
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    for label in axes.get_xticklabels():
        label.set(ha="left", rotation_mode="anchor")
    axes.spines[:].set_color("#cccccc")
    if panel.name:
        axes.set_xlabel(without_controls(panel.name))


def _frame(i: int, j: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((i - 0.42, j - 0.42), 0.84, 0.84, fill=False, edgecolor=LINK, linewidth=1.5)


def _label(word: str) -> str:
    return without_controls(word).replace("$", r"\$")  # a dollar sign would begin a formula


def _room(words: Sequence[str]) -> float:
    return CELL * len(words)


def _fonts() -> list[str]:
    """Return the installed fonts of FONTS, matplotlib's own first."""
    from matplotlib.font_manager import get_font_names

    there = set(get_font_names())
    return [name for name in FONTS if name in there]


def _saved(figure: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    undated = {"pdf": {"CreationDate": None}}.get(kind)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")  # the caller warns once
        figure.savefig(buffer, format=kind, dpi=150, metadata=undated)
    return buffer.getvalue()
