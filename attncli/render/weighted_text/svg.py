"""Coloured words as SVG: text that can be selected, a tooltip on each word.

The letters have equal widths, so that the colours fit the words whatever font the reader has.
"""

from __future__ import annotations

from collections.abc import Sequence

from attncli.data.weighted_text import WeightedText
from attncli.render.alignment.shades import shade
from attncli.render.alignment.svg import safe, svg_file
from attncli.render.weighted_text.layout import Measures, PlacedText, laid_out
from attncli.terminal.width import width, without_controls

LETTER = 8.4  # pixels: width of a letter
SIZES = Measures(line=24, room=760, gap=LETTER, margin=16, name=72)  # pixels
FONT = 'font-family="\'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="14"'


def svg(texts: Sequence[WeightedText]) -> bytes:
    """Draw texts, one under another."""
    widths = [[LETTER * width(without_controls(word)) for word in text.words] for text in texts]
    placed, height = laid_out(texts, widths, SIZES)
    across = SIZES.room + SIZES.name + 2 * SIZES.margin
    return svg_file([*map(_element, placed)], across, height, FONT)


def _element(one: PlacedText) -> str:
    """Return a title or name, or a word on the colour of its weight."""
    text, bottom = safe(one.text), one.top + 0.7 * SIZES.line
    if one.shade is None:
        return f'<text x="{one.x:.1f}" y="{bottom:.1f}" fill="#777">{text}</text>'
    colour = shade(one.shade)
    return (
        f'<g><title>{text}: {one.weight:.3f}</title><rect x="{one.x - 2:.1f}" '
        f'y="{one.top + 2:.1f}" width="{one.width + 4:.1f}" height="{SIZES.line - 4}" rx="3" '
        f'fill="{colour.code}"/><text x="{one.x:.1f}" y="{bottom:.1f}" '
        f'textLength="{one.width:.1f}" lengthAdjust="spacingAndGlyphs" '
        f'fill="{"white" if colour.dark else "black"}">{text}</text></g>'
    )
