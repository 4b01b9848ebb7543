"""The terminal that attention maps are drawn on: its width, and the colours it can show.

Colours are used on a terminal other than TERM=dumb, and elsewhere if FORCE_COLOR is set. NO_COLOR
turns them off. They have 24 bits if COLORTERM says so, otherwise they are the nearest of the 256
colours of xterm. COLUMNS overrides the width.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

UNKNOWN_WIDTH = 100  # columns if neither the terminal nor COLUMNS tells them
TRUE_COLOUR = 1 << 24
LETTER, GROUND = 38, 48  # what a colour code applies to


class Screen(NamedTuple):
    """Width and colours of a terminal."""

    width: int = 80  # columns
    colours: int = 0  # 0, 256 or TRUE_COLOUR


def current_screen() -> Screen:
    """Return the screen of standard output."""
    width = shutil.get_terminal_size((UNKNOWN_WIDTH, 24)).columns
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return Screen(width, colours_of(os.environ, is_terminal=is_terminal))


def colours_of(environment: Mapping[str, str], *, is_terminal: bool) -> int:
    """Return the number of colours: 0, 256 or TRUE_COLOUR."""
    wanted = is_terminal and environment.get("TERM") != "dumb"
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        wanted = True
    if not wanted or environment.get("NO_COLOR"):
        return 0
    return TRUE_COLOUR if environment.get("COLORTERM") in ("truecolor", "24bit") else 256


def colour_code(pixel: Sequence[int], screen: Screen, place: int) -> str:
    """Return the code of a colour (red, green, blue; 0 to 255) for LETTER or GROUND."""
    red, green, blue = (int(part) for part in pixel)
    if screen.colours >= TRUE_COLOUR:
        return f"{place};2;{red};{green};{blue}"
    if max(red, green, blue) - min(red, green, blue) < 12:  # one of 24 greys
        return f"{place};5;{232 + min(23, (red + green + blue) // 3 * 24 // 256)}"
    steps = (round(part / 51) for part in (red, green, blue))  # a cube of 6 x 6 x 6 colours
    return f"{place};5;{16 + sum(s * f for s, f in zip(steps, (36, 6, 1), strict=True))}"
