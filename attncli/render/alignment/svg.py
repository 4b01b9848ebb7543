"""Alignments as SVG: text that can be selected, a tooltip on each cell, no external resources.

Weights are shades of blue, equal in every picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from attncli.data.panels import AlignedPair, Panel
from attncli.terminal.text import width, without_controls

CELL, FONT, LETTER = 26, 13, 7.4  # pixels: cell, height of a letter, its usual width
TURN = 55  # rotation of source words in degrees
SPACE = 18  # pixels around panels
FONTS = "'Noto Sans', 'DejaVu Sans', 'Noto Sans CJK JP', 'Noto Sans Arabic', Arial, sans-serif"
# colours of weights at equal distances from 0 to 1
STOPS = ((255, 255, 255), (198, 219, 239), (66, 146, 198), (8, 48, 107))
LINK = "#d55e00"  # the frame of a link


class Drawn(NamedTuple):
    """SVG elements drawn from the origin, with their width and height."""

    elements: list[str]
    width: float
    height: float


def svg(pairs: Sequence[AlignedPair]) -> bytes:
    """Draw all pairs, one under another."""
    blocks = [_pair(pair, numbered=len(pairs) > 1) for pair in pairs]
    across = max([block.width for block in blocks], default=0) + 2 * SPACE
    down = sum(block.height + SPACE for block in blocks) + SPACE
    parts, y = [], float(SPACE)
    for block in blocks:
        parts += [_group(block, SPACE, y)]
        y += block.height + SPACE
    return svg_file(parts, across, down, f'font-family="{FONTS}" font-size="{FONT}"')


def svg_file(elements: Sequence[str], width: float, height: float, font: str) -> bytes:
    """Return a file with elements on white paper. font: its attributes."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" {font}>\n'
        '<rect width="100%" height="100%" fill="white"/>\n'
    )
    return (head + "\n".join(elements) + "\n</svg>\n").encode("utf-8", "replace")


def _pair(pair: AlignedPair, *, numbered: bool) -> Drawn:
    """Draw the panels of a pair, side by side."""
    named = any(panel.name for panel in pair.panels)
    x, elements, height = 0.0, [], 0.0
    if numbered or pair.note:
        title = f"{pair.number}" + (f"  {pair.note}" if pair.note else "")
        elements.append(_text(0, FONT, title, 'fill="#777"'))
    if not pair.source or not pair.target:
        return Drawn(elements, len(pair.note) * LETTER + 40, 1.5 * FONT)
    top = 1.5 * FONT if elements else 0.0
    for panel in pair.panels:
        drawn = _panel(pair, panel, named=named)
        elements.append(_group(drawn, x, top))
        x += drawn.width + SPACE
        height = max(height, drawn.height)
    return Drawn(elements, x - SPACE, top + height)


def _panel(pair: AlignedPair, panel: Panel, *, named: bool) -> Drawn:
    """Draw one heat map: target words at the left, source words above, rotated."""
    left = max(map(_length, pair.target)) + 8
    head = 1.8 * FONT if named else 0.0
    longest = max(map(_length, pair.source))
    top = head + longest * math.sin(math.radians(TURN)) + FONT
    overhang = longest * math.cos(math.radians(TURN))
    elements = [_text(left, FONT, panel.name, 'font-weight="bold"')] if named else []
    for i, word in enumerate(pair.source):
        x = left + (i + 0.6) * CELL
        turned = f'transform="translate({x:.1f} {top - 6:.1f}) rotate(-{TURN})"'
        elements.append(_text(0, 0, word, turned))
    for j, word in enumerate(pair.target):
        y = top + (j + 0.5) * CELL + 0.35 * FONT
        elements.append(_text(left - 8, y, word, 'text-anchor="end"'))
    elements += _cells(pair, panel, left, top)
    across = len(pair.source) * CELL
    return Drawn(elements, left + across + overhang, top + len(pair.target) * CELL)


def _cells(pair: AlignedPair, panel: Panel, left: float, top: float) -> Iterator[str]:
    for j, target in enumerate(pair.target):
        for i, source in enumerate(pair.source):
            weight, linked = panel.weight(i, j), (i, j) in panel.links
            x, y = left + i * CELL, top + j * CELL
            tip = f"{safe(target)} ← {safe(source)}: {weight:.3f}"
            yield (
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{CELL}" height="{CELL}" '
                f'fill="{shade(weight).code}" stroke="#e8e8e8"><title>{tip}</title></rect>'
            )
            if linked:
                yield (
                    f'<rect x="{x + 2:.1f}" y="{y + 2:.1f}" width="{CELL - 4}" '
                    f'height="{CELL - 4}" fill="none" stroke="{LINK}" stroke-width="2" '
                    'pointer-events="none"/>'
                )


def _group(drawn: Drawn, x: float, y: float) -> str:
    inner = "\n".join(drawn.elements)
    return f'<g transform="translate({x:.1f} {y:.1f})">\n{inner}\n</g>'


def _text(x: float, y: float, text: str, attributes: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {attributes}>{safe(text)}</text>'


def _length(text: str) -> float:
    return width(without_controls(text)) * LETTER


def safe(text: str) -> str:
    """Return the text escaped for XML, without characters that XML forbids."""
    allowed = "".join(c for c in without_controls(text) if c not in "\ufffe\uffff")
    return escape(allowed, quote=False)


class Shade(NamedTuple):
    """A colour, and the colour of text on it."""

    red: int
    green: int
    blue: int

    @property
    def code(self) -> str:
        """Return the colour as HTML writes it."""
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def dark(self) -> bool:
        """Return True if text on this colour must be light."""
        return 0.299 * self.red + 0.587 * self.green + 0.114 * self.blue < 140


def shade(weight: float) -> Shade:
    """Return the colour of a weight from 0 to 1; a larger weight is darker."""
    place = min(max(weight, 0.0), 1.0) * (len(STOPS) - 1)
    before = min(int(place), len(STOPS) - 2)
    part = place - before
    low, high = STOPS[before], STOPS[before + 1]
    return Shade(*(round(a + part * (b - a)) for a, b in zip(low, high, strict=True)))
