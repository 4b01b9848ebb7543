"""Words of a text as spans of characters: the units that tags are projected to.

A word is a run of letters, digits and the accents on them; where a script writes no spaces, each
letter is a word. Punctuation is not a word; it moves with the word that it touches.
"""

from __future__ import annotations

import re
import unicodedata

from models.base.types import Span

UNSPACED = re.compile(  # Thai to Khmer, kana, Han, marks
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\ue000-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff]"
)


def words(text: str) -> list[Span]:
    """Return the words of a text in order."""
    found: list[Span] = []
    for at, character in enumerate(text):
        if not _in_word(character):
            continue
        accent = unicodedata.category(character)[0] == "M"
        apart = UNSPACED.search(text[max(at - 1, 0) : at + 1])
        if found and found[-1][1] == at and (accent or not apart):
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return found


def has_word(text: str) -> bool:
    """Return True if a text has a word, that is, anything to translate."""
    return any(_in_word(character) and not is_mark(character) for character in text)


def is_mark(character: str) -> bool:
    """Return True for a character of the private area, such as the mark of a protected part."""
    return "\ue000" <= character <= "\uf8ff"


def _in_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M" or is_mark(character)
