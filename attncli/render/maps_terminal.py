"""Maps of attention over an image in a terminal: a panel for each word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from attncli.render.image_attention import AttentionMaps, described, highlighted, smooth
from attncli.terminal.messages import GROUND, LETTER, Screen, colour_code, fitted, padded

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHADES = " ░▒▓█"
WIDEST, NARROWEST, COLUMN_GAP = 32, 12, 2  # columns of a panel, and between panels
RESET = "\x1b[0m"


def maps_as_text(attention: AttentionMaps, screen: Screen) -> str:
    """Return the panels as lines; word and figures are below each panel."""
    across = max(1, (screen.width + COLUMN_GAP) // (24 + COLUMN_GAP))
    columns = (screen.width + COLUMN_GAP) // across - COLUMN_GAP
    columns = max(min(columns, WIDEST), min(NARROWEST, screen.width))
    panels = list(_panels(attention, columns, screen))
    lines = []
    for start in range(0, len(panels), across):
        rows = zip(*panels[start : start + across], strict=True)
        lines += [(" " * COLUMN_GAP).join(row).rstrip(" ") for row in rows]
    gate = "" if attention.gates is None else "β gate, "
    lines.append(f"{gate}H entropy in nats; {described(attention)}")
    return "".join(f"{line}\n" for line in lines)


def _panels(attention: AttentionMaps, columns: int, screen: Screen) -> Iterator[list[str]]:
    if screen.colours:
        image = attention.image.resize((columns, columns))
        yield [*_blocks(np.asarray(image), screen), " " * columns, " " * columns]
    for word, text in enumerate(attention.words):
        drawn = (
            _blocks(np.asarray(highlighted(attention, word, columns)), screen)
            if screen.colours
            else _shaded(attention.drawn(word), columns)
        )
        texts = (text, attention.figures(word))
        yield [*drawn, *(padded(fitted(text, columns), columns) for text in texts)]


def _blocks(pixels: NDArray[np.uint8], screen: Screen) -> list[str]:
    """Return pixels (2 N, columns, 3) as N lines."""
    lines = []
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=False):
        cells = (
            f"\x1b[{colour_code(one, screen, LETTER)};{colour_code(two, screen, GROUND)}m▀"
            for one, two in zip(upper, lower, strict=True)
        )
        lines.append("".join(cells) + RESET)
    return lines


def _shaded(weights: NDArray[np.float32], columns: int) -> list[str]:
    """Return a map as lines of shades; a character is twice as high as it is wide."""
    levels = (smooth(weights, columns) * (len(SHADES) - 1)).round().astype(int)
    return ["".join(SHADES[level] for level in row) for row in levels[: columns // 2 * 2 : 2]]
