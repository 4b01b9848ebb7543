"""Messages, and the screen that attention is drawn on."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol
from unicodedata import bidirectional, category

# for texts that other people choose: names of files, cells of tables, words
ELLIPSIS = "…"
RIGHT_TO_LEFT = ("R", "AL")
ISOLATE, END_ISOLATE, LEFT_TO_RIGHT = "\u2068", "\u2069", "\u200e"
JOINER = "\u200d"
CONTROLS = {"Cc", "Cs", "Zl", "Zp"}  # Unicode categories that a terminal cannot show
HIDDEN = CONTROLS | {"Cf", "Co"}  # shown as escapes
JOINERS = "\u200c\u200d"  # format characters that belong to words of some scripts
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with these a spreadsheet begins a formula
UNKNOWN_WIDTH = 100  # columns if neither the terminal nor COLUMNS tells them
TRUE_COLOUR = 1 << 24
LETTER, GROUND = 38, 48  # what a colour code applies to


class ShowProgress(Protocol):
    """Function that shows the progress of a piece of work."""

    def __call__(self, done: float, note: str = "") -> None:
        """Show the amount done so far and a note."""


class Messages(Protocol):
    """Receiver of what a job reports. The module `console` is one; see its functions."""

    def say(self, text: str) -> None:
        """Report a remark."""

    def warn(self, text: str) -> None:
        """Report a problem."""

    def progress(
        self, label: str, *, total: float | None = None, shown: bool = True
    ) -> AbstractContextManager[ShowProgress]:
        """Show the progress of some work."""


class Silent:
    """Receiver that drops everything, for callers without a terminal."""

    def say(self, text: str) -> None:
        """Drop a remark."""

    def warn(self, text: str) -> None:
        """Drop a problem."""

    def progress(
        self, label: str, *, total: float | None = None, shown: bool = True
    ) -> AbstractContextManager[ShowProgress]:
        """Show nothing."""
        return nullcontext(lambda done, note="": None)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 image", "2,000 images"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def abridged(names: Iterable[str], most: int = 3) -> str:
    """Return the first names, and the number of the others."""
    names = list(names)
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def rounded_time(seconds: float) -> str:
    """Return a time in its unit: "12 seconds", "12 minutes", "3 hours"; "no limit" if infinite."""
    if math.isinf(seconds):
        return "no limit"
    if seconds < 120:
        return counted(max(1, round(seconds)), "second")
    minutes = round(seconds / 60)
    return counted(minutes, "minute") if minutes < 120 else counted(round(minutes / 60), "hour")


def width(text: str) -> int:
    """Return the width in columns: 2 for wide East Asian characters, 0 for combining ones."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # where other text is drawn alone

    return cell_len(text)


def fitted(text: str, columns: int) -> str:
    """Return the text, or as much of its beginning as fits with an ellipsis."""
    from rich.cells import set_cell_size

    if width(text) <= columns:
        return text
    return set_cell_size(text, columns - 1).rstrip() + ELLIPSIS if columns > 0 else ""


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """Pad the text with spaces to a width, on its right or (right=True) on its left."""
    spaces = " " * (columns - width(text))
    return spaces + isolated(text) if right else isolated(text) + spaces


def isolated(text: str) -> str:
    """Isolate right-to-left text, so that text next to it keeps its place."""
    return f"{LEFT_TO_RIGHT}{ISOLATE}{text}{END_ISOLATE}" if is_right_to_left(text) else text


def is_right_to_left(text: str) -> bool:
    """Return True if the text has right-to-left letters."""
    return any(bidirectional(letter) in RIGHT_TO_LEFT for letter in text)


def without_controls(text: str) -> str:
    """Return the text without control characters, which could change the terminal."""
    kinds = ((letter, "" if letter == JOINER else category(letter)) for letter in text)
    return "".join(" " if kind in CONTROLS else letter for letter, kind in kinds if kind != "Cf")


def printable(text: str, *, keep_surrogates: bool = False) -> str:
    """Return the text with control, format and unpaired surrogate characters as escapes.

    An escape sequence in a file name would otherwise control the user's terminal.
    keep_surrogates: leave those, which stand for bytes of a name that is not valid UTF-8.
    """
    if text.isprintable():
        return text
    hidden = HIDDEN - {"Cs"} if keep_surrogates else HIDDEN
    return "".join(
        letter.encode("unicode_escape").decode("ascii")
        if category(letter) in hidden and letter not in JOINERS
        else letter
        for letter in text
    )


def one_line(text: str) -> str:
    """Return the text with spaces in place of line breaks."""
    return text.replace("\r", " ").replace("\n", " ")


def one_cell(text: str) -> str:
    """Return the text with spaces in place of tabs and line breaks, for a column of a table."""
    return one_line(text).replace("\t", " ")


def cell(text: object) -> object:
    """Return the content of a CSV cell that a spreadsheet shows as text, never as a formula."""
    if isinstance(text, str) and text.startswith(FORMULA):
        return f"'{text}"
    return text


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
    """Return the number of colours: 0, 256 (those of xterm) or TRUE_COLOUR.

    Colours are used on a terminal other than TERM=dumb, and elsewhere if FORCE_COLOR is set.
    """
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
