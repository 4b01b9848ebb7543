"""Coloured words as SVG: text that can be selected, a tooltip on each word.

The letters have equal widths, so that the colours fit the words whatever font the reader has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attncli.data.weighted_text import WeightedText, WeightRow
from attncli.render.alignment.shades import shade
from attncli.render.alignment.svg import safe, svg_file
from attncli.render.weighted_text.layout import line_count, placed
from attncli.terminal.width import width, without_controls

LETTER, LINE, ROOM = 8.4, 24, 760  # pixels: width of a letter, height and width of a line
MARGIN, NAME = 16, 72  # pixels: around the text, and for the name of a head
FONT = 'font-family="\'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="14"'


def svg(texts: Sequence[WeightedText]) -> bytes:
    """Draw texts, one under another."""
    elements: list[str] = []
    y = float(MARGIN)
    for text in texts:
        elements.append(_label(MARGIN, y, text.title))
        y += LINE
        for row in text.rows:
            elements += _row(text, row, y)
            y += LINE * line_count(_widths(text), LETTER, ROOM)
        y += LINE / 2
    return svg_file(elements, MARGIN + NAME + ROOM + MARGIN, y, FONT)


def _row(text: WeightedText, row: WeightRow, top: float) -> Iterator[str]:
    """Yield the words of a row on the colour of their weight, and the name of the row."""
    left = MARGIN
    if row.name:
        yield _label(left, top, row.name)
        left += NAME
    widths = _widths(text)
    places = placed(widths, LETTER, ROOM)
    cells = zip(text.words, row.weights, row.shades, widths, places, strict=True)
    for word, weight, part, size, (line, x) in cells:
        colour, y = shade(part), top + line * LINE
        ink = "white" if colour.dark else "black"
        yield (
            f'<g><title>{safe(word)}: {weight:.3f}</title><rect x="{left + x - 2:.1f}" '
            f'y="{y + 2:.1f}" width="{size + 4:.1f}" height="{LINE - 4}" rx="3" '
            f'fill="{colour.code}"/><text x="{left + x:.1f}" y="{y + 0.7 * LINE:.1f}" '
            f'textLength="{size:.1f}" lengthAdjust="spacingAndGlyphs" fill="{ink}">'
            f"{safe(word)}</text></g>"
        )


def _widths(text: WeightedText) -> list[float]:
    return [LETTER * width(without_controls(word)) for word in text.words]


def _label(x: float, top: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{top + 0.7 * LINE:.1f}" fill="#777">{safe(text)}</text>'
