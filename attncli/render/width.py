"""How many columns of a terminal a text takes."""

from __future__ import annotations

from collections.abc import Iterator
from unicodedata import bidirectional, category, east_asian_width

ELLIPSIS = "…"
RIGHT_TO_LEFT = ("R", "AL")
ISOLATE, END_ISOLATE, LEFT_TO_RIGHT = "\u2068", "\u2069", "\u200e"
JOINER, EMOJI_STYLE = "\u200d", "\ufe0f"


def width(text: str) -> int:
    """Columns of a text: two for a letter of East Asian width, none for what joins another."""
    return sum(columns for _, columns in _letters(text))


def fitted(text: str, columns: int) -> str:
    """The text, or as much of its beginning as fits with an ellipsis."""
    if width(text) <= columns:
        return text
    kept, room = "", columns - 1
    for letters, size in _letters(text):
        if size > room:
            break
        kept, room = kept + letters, room - size
    return kept + ELLIPSIS if columns > 0 else ""


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """The text with spaces to so many columns, after it or (right) before it."""
    spaces = " " * (columns - width(text))
    return spaces + isolated(text) if right else isolated(text) + spaces


def isolated(text: str) -> str:
    """The text so that, read from right to left, it leaves what stands beside it in place."""
    return f"{LEFT_TO_RIGHT}{ISOLATE}{text}{END_ISOLATE}" if is_right_to_left(text) else text


def is_right_to_left(text: str) -> bool:
    """Whether any letter of a text is read from right to left."""
    return any(bidirectional(letter) in RIGHT_TO_LEFT for letter in text)


def printable(text: str) -> str:
    """The text without characters that steer a terminal or the order of what follows."""
    return "".join(_shown(letter) for letter in text)


def _shown(letter: str) -> str:
    kind = category(letter)
    if letter == JOINER or kind not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return letter
    return "" if kind == "Cf" else " "


def _letters(text: str) -> Iterator[tuple[str, int]]:
    """Letters with what is written upon them, and the columns of each."""
    letters, size = "", 0
    for letter in text:
        joins = category(letter) in ("Mn", "Me", "Cf") or letters.endswith(JOINER)
        if letters and not joins:
            yield letters, size
            letters, size = "", 0
        if not joins:
            size = 2 if east_asian_width(letter) in "WF" else 1
        elif letter == EMOJI_STYLE:
            size = 2
        letters += letter
    if letters:
        yield letters, size
