"""Line breaks of a translated segment: lines of a maximum length, or a maximum number of lines.

Lines are divided at spaces. The width of a word is that of its text; markup takes no room.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

MARKUP = re.compile(r"<[^<>]*>|\{[^{}\s]*\}")
NONE = r"(?!)"  # matches nothing

OPENING = re.compile(r"[\s\"'“”„‟«»‹›‘’‚(\[{¿¡]*")
SENTENCE_END = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*\s*$")

Width = Callable[[str], int]


def text_width(word: str) -> int:
    """Return the number of characters of a word without its markup."""
    return len(html.unescape(MARKUP.sub("", word)))


def balanced(line: str, lines: int, *, never_first: str = NONE) -> list[str]:
    """Divide a line into at most so many lines; the longest of them is as short as possible.

    never_first: as for `filled`.
    """

    def divided(most: int) -> list[str]:
        return filled(line, most, text_width, never_first=never_first)

    words = line.split(" ")
    low, high = max(map(text_width, words)), sum(map(text_width, words)) + len(words) - 1
    while low < high:
        middle = (low + high) // 2
        fits = len(divided(middle)) <= lines
        low, high = (low, middle) if fits else (middle + 1, high)
    return divided(low)


def filled(line: str, most: int, width: Width, *, never_first: str = NONE) -> list[str]:
    """Divide a line into lines of at most so many characters, except for longer words.

    never_first: regular expression of words that must not begin a line.
    """
    found: list[str] = []
    room = -1
    for word in line.split(" "):
        size = width(word)
        if found and (size < room or re.match(never_first, word)):
            found[-1] += f" {word}"
            room -= size + 1
        else:
            found.append(word)
            room = most - size
    return found


def begins_as_text(text: str) -> bool:
    """Return True if a text begins as a new one does, and not as the rest of a sentence."""
    rest = OPENING.sub("", text, count=1)
    return bool(rest) and not rest[0].islower() and rest[0] not in ",.;:!?)]}…%"


def continues(before: str, text: str) -> bool:
    """Return True if the text behind a break goes on with that before it."""
    if not before.strip() or not text.strip() or SENTENCE_END.search(before):
        return False
    return not begins_as_text(text)
