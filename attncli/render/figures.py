"""Alignments and coloured words as SVG, PNG or PDF, by matplotlib, in any script.

The text of an SVG can be selected, and is drawn in the fonts of the reader.
"""

from __future__ import annotations

import contextlib
import io
import math
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font, get_font_names
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.offsetbox import AnchoredOffsetbox, HPacker, TextArea, VPacker
from matplotlib.patches import Patch, Rectangle

from attncli.task.panels import LINK, AlignedPair, WeightedText, shade
from attncli.terminal.messages import is_right_to_left, width, without_controls
from models.text.alignment import Alignment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
CELL, TITLE = 0.32, 0.18  # inches: of an alignment, and a further line of its title
ACROSS = 3  # panels in a row
LEVELS = (0, 25, 50, 75, 100)  # percent, in the key
KEY, KEY_LINE, LETTER = 0.85, 0.25, 0.09  # inches: an entry of the key, its line, a letter
FACTS = ("Creator", "Date", "Format", "Type")  # that an SVG would state about itself
FORBIDDEN = dict.fromkeys([0xFFFE, 0xFFFF])  # in XML
SIZE, GAP = 11, 6.0  # points: letters of coloured words, and between them
COLUMNS = 80  # letters of a line of words


def draw_alignments(pairs: Sequence[AlignedPair], *, kind: str = "png") -> bytes:
    """Draw all pairs, one under another, their panels in rows of three, and a key below.

    kind: svg, png or pdf.
    """
    rows = [
        replace(pair, panels=pair.panels[start : start + ACROSS])
        for pair in pairs
        for start in range(0, len(pair.panels), ACROSS)
        if pair.source and pair.target
    ]
    panels = max((len(row.panels) for row in rows), default=1)
    across = max((CELL * (len(row.source) + 6) for row in rows), default=4.0)
    room = int(across / LETTER)  # letters in a line of a title
    heights = [CELL * (len(row.target) + 5) + TITLE * _most_lines(row, room) for row in rows] or [
        1.0
    ]
    with matplotlib.rc_context({"font.family": fonts()}):
        columns = max(1, min(len(LEVELS) + 1, int(across * panels / KEY)))
        below = KEY_LINE * (1 + math.ceil((len(LEVELS) + 1) / columns)) if rows else 0
        size = across * panels, sum(heights) + below + TITLE
        layout = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - TITLE / size[1]))  # room for titles
        figure = Figure(figsize=size, layout=layout)
        grid = figure.subplots(
            len(heights), panels, squeeze=False, gridspec_kw={"height_ratios": heights}
        )
        for axes in grid.flat:
            axes.set_axis_off()
        for line, row in zip(grid, rows, strict=False):
            for axes, panel in zip(line, row.panels, strict=False):
                _panel(axes, row, panel, room)
        if below:
            framed = any(panel.framed for row in rows for panel in row.panels)
            _key(figure, columns, rows[0].key, framed=framed)
        return saved(figure, kind)


def _most_lines(pair: AlignedPair, room: int) -> int:
    """Return the lines of the longest title of a pair's panels beyond the first."""
    return max(len(textwrap.wrap(panel.title, max(room, 12))) for panel in pair.panels) - 1


def _key(figure: Figure, columns: int, title: str, *, framed: bool) -> None:
    """Draw the scale of the colours below the pairs, and the meaning of frames if there are any."""
    patches = [Patch(facecolor=shade(n / 100).code, edgecolor="#cccccc") for n in LEVELS]
    labels = [f"{n} %" for n in LEVELS]
    if framed:
        patches.append(Patch(fill=False, edgecolor=LINK, linewidth=1.5))
        labels.append("linked")
    figure.legend(
        patches,
        labels,
        loc="outside lower center",
        ncols=columns,
        title=title,
        frameon=False,
        handlelength=1,
        fontsize="small",
        title_fontsize="small",
    )


def _panel(axes: Axes, pair: AlignedPair, panel: Alignment, room: int) -> None:
    """Draw a panel. room: letters in a line of its title."""
    axes.set_axis_on()
    rows = range(len(pair.target))
    image = [
        [tuple(part / 255 for part in shade(panel.weight(i, j))) for i in range(len(pair.source))]
        for j in rows
    ]
    axes.imshow(image, aspect="equal", interpolation="nearest")
    for i, j in panel.framed:
        corner = (i - 0.42, j - 0.42)
        axes.add_patch(Rectangle(corner, 0.84, 0.84, fill=False, edgecolor=LINK, linewidth=1.5))
    axes.set_xticks(range(len(pair.source)), [label_of(word) for word in panel.axis], rotation=55)
    axes.set_yticks(rows, [label_of(word) for word in pair.target])
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    for label in axes.get_xticklabels():
        label.set(ha="left", rotation_mode="anchor")
    axes.spines[:].set_color("#cccccc")
    if panel.title:
        axes.set_title(textwrap.fill(label_of(panel.title), max(room, 12)), fontsize="small")


def draw_words(texts: Sequence[WeightedText], *, kind: str = "png") -> bytes:
    """Draw coloured words, one text under another. kind: svg, png or pdf."""
    grey = {"color": "#777777"}
    with matplotlib.rc_context({"font.family": fonts(), "font.size": SIZE}):
        lines: list[Artist] = []
        for text in texts:
            lines.append(TextArea(label_of(text.title), textprops=grey))
            for row in text.rows:
                line: list[Artist] = [TextArea(row.name, textprops=grey)] if row.name else []
                used = 0
                for word, share in zip(text.words, row.shades, strict=True):
                    if used and used + width(word) > COLUMNS:
                        lines.append(HPacker(children=line, pad=0, sep=GAP))
                        line, used = [], 0
                    colour = shade(share)
                    box = {"boxstyle": "round,pad=0.15", "fc": colour.code, "ec": "none"}
                    style = {"color": "white" if colour.dark else "black", "bbox": box}
                    line.append(TextArea(label_of(word), textprops=style))
                    used += width(word) + 1
                lines.append(HPacker(children=line, pad=0, sep=GAP))
        figure = Figure()
        packed = VPacker(children=lines, pad=0, sep=GAP)
        place: dict[str, Any] = {"bbox_to_anchor": (0, 1), "bbox_transform": figure.transFigure}
        figure.add_artist(AnchoredOffsetbox("upper left", child=packed, frameon=False, **place))
        return saved(figure, kind, bbox_inches="tight")


def fonts() -> list[str]:
    """Return the installed fonts of FONTS, matplotlib's own first."""
    there = set(get_font_names())
    return [name for name in FONTS if name in there]


def label_of(word: str) -> str:
    """Return a word as matplotlib draws it unchanged: a dollar sign would begin a formula.

    Letters that XML forbids are left out.
    """
    allowed = without_controls(word).encode("utf-8", "ignore").decode()
    return allowed.translate(FORBIDDEN).replace("$", r"\$")


def undrawable(words: Sequence[str]) -> str:
    """Return a warning about words that cannot be drawn correctly; empty if there are none."""
    text = "".join(map(without_controls, words))
    letters = {letter for letter in text if not letter.isspace()}
    for name in fonts():
        known = get_font(findfont(FontProperties(family=name))).get_charmap()
        letters = {letter for letter in letters if ord(letter) not in known}
    if missing := "".join(sorted(letters)):
        return (
            f"no font with the letters {missing[:20]} is known: install one, or write SVG or HTML"
        )
    if is_right_to_left(text) and matplotlib.__version_info__[:2] < SHAPES:
        return "this matplotlib takes right-to-left text apart: use 3.11, or write SVG or HTML"
    return ""


def saved(figure: Figure, kind: str, **options: Any) -> bytes:
    """Return a figure as a PNG, SVG or PDF file; equal figures give equal files."""
    buffer = io.BytesIO()
    undated = {"svg": dict.fromkeys(FACTS), "pdf": {"CreationDate": None}}.get(kind)
    with (
        without_warnings(),
        matplotlib.rc_context({"svg.hashsalt": "attn", "svg.fonttype": "none"}),
    ):
        figure.savefig(buffer, format=kind, dpi=150, metadata=undated, **options)
    return buffer.getvalue()


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress matplotlib's warnings of axes without room, and for each missing letter.

    `undrawable` gives one for all letters.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*|constrained_layout not applied")
        yield
