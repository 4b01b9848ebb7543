"""Maps in the terminal: the picture, then one panel for each word, as many in a row as fit.

In colour a character is two pixels of the lit picture, one above the other (a half block). Without
colour (NO_COLOR, or no terminal) it is a shade of the map alone. Colours are 24-bit where COLORTERM
says so, else the nearest of the 256 of xterm.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attncli.render.image_attention.look import Look, lit, smooth

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHADES = " ░▒▓█"
WIDEST, NARROWEST, GAP = 32, 12, 2  # columns of a panel, and between panels
RESET = "\x1b[0m"


class Screen(NamedTuple):
    """What maps are drawn on."""

    width: int  # columns
    colours: int = 0  # 0, 256 or 2 ** 24


def screen_of(width: int, *, is_terminal: bool, environment: Mapping[str, str]) -> Screen:
    """The screen that the environment speaks of."""
    if not is_terminal or environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return Screen(width)
    many = environment.get("COLORTERM") in ("truecolor", "24bit")
    return Screen(width, 1 << 24 if many else 256)


def current_screen(*, is_terminal: bool) -> Screen:
    """The screen at hand."""
    import shutil

    width = shutil.get_terminal_size().columns
    return screen_of(width, is_terminal=is_terminal, environment=os.environ)


def drawn_as_text(look: Look, screen: Screen) -> str:
    """The panels as lines; each has its word and its figures under it."""
    across = max(1, (screen.width + GAP) // (24 + GAP))
    columns = (screen.width + GAP) // across - GAP
    columns = max(min(columns, WIDEST), min(NARROWEST, screen.width))
    panels = list(_panels(look, columns, screen))
    lines = []
    for start in range(0, len(panels), across):
        rows = zip(*panels[start : start + across], strict=True)
        lines += [(" " * GAP).join(row).rstrip(" ") for row in rows]
    gate = "" if look.gates is None else "β gate, "
    lines.append(f"{gate}H entropy in nats; {look.read} attention")
    return "".join(f"{line}\n" for line in lines)


def _panels(look: Look, columns: int, screen: Screen) -> Iterator[list[str]]:
    if screen.colours:
        picture = look.picture.resize((columns, columns))
        yield [*_blocks(np.asarray(picture), screen), " " * columns, " " * columns]
    for word, text in enumerate(look.words):
        drawn = (
            _blocks(np.asarray(lit(look, word, columns)), screen)
            if screen.colours
            else _shaded(look.maps[word], columns)
        )
        yield [*drawn, _cut(text, columns), _cut(look.figures(word), columns)]


def _blocks(pixels: NDArray[np.uint8], screen: Screen) -> list[str]:
    """Pixels (2 N, columns, 3) as N lines."""
    lines = []
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=False):
        cells = (
            f"\x1b[{_colour(one, screen, 38)};{_colour(two, screen, 48)}m▀"
            for one, two in zip(upper, lower, strict=True)
        )
        lines.append("".join(cells) + RESET)
    return lines


def _colour(pixel: Sequence[int], screen: Screen, ground: int) -> str:
    """The code of a colour, for the letter (38) or what is behind it (48)."""
    red, green, blue = (int(part) for part in pixel)
    if screen.colours > 256:
        return f"{ground};2;{red};{green};{blue}"
    if max(red, green, blue) - min(red, green, blue) < 12:  # one of 24 greys
        return f"{ground};5;{232 + min(23, (red + green + blue) // 3 * 24 // 256)}"
    steps = (round(part / 51) for part in (red, green, blue))
    return f"{ground};5;{16 + sum(s * f for s, f in zip(steps, (36, 6, 1), strict=True))}"


def _shaded(weights: NDArray[np.float32], columns: int) -> list[str]:
    """A map as lines of shades; a character is twice as high as it is wide."""
    levels = (smooth(weights, columns) * (len(SHADES) - 1)).round().astype(int)
    return ["".join(SHADES[level] for level in row) for row in levels[: columns // 2 * 2 : 2]]


def _cut(text: str, columns: int) -> str:
    """A text of exactly so many columns."""
    kept, width = "", 0
    for letter in text:
        size = 0 if unicodedata.combining(letter) else 1
        size = 2 if unicodedata.east_asian_width(letter) in "WF" else size
        if width + size > columns:
            break
        kept, width = kept + letter, width + size
    return kept + " " * (columns - width)
