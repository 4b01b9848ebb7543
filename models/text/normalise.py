r"""Normalisation of source text, so that spacing and typography do not change the translation.

normalise("It’s\u00a0 here") == "It's here"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from unicodedata import category, is_normalized
from unicodedata import normalize as to_form

# all white space: a tab inside a sentence is a space to a model
SPACES = re.compile("[\t-\r\x1c-\x20\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
APOSTROPHE_SIGNS = "\u2019\u02bc\uff07"
REPLACEMENTS = (  # of a text without spaces at its ends: `normalise`, for other programs
    (SPACES.pattern, " "),
    (f"[{APOSTROPHE_SIGNS}]", "'"),
)
APOSTROPHES = str.maketrans(dict.fromkeys(APOSTROPHE_SIGNS, "'"))
STOPS = tuple(".!?…:;。！？")
TAIL = re.compile(r"\W*$")
ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+|[^\s@]+@[^\s@]+\.[^\s@]+", re.IGNORECASE)
# joiners and skin tones
EMOJI_PARTS = "\u200d\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"

# of a heading, an item, a quotation or an enumeration (I. a) (2) iv.) in plain text
MARKS = re.compile(
    r"(?:[#>*+-]+[ \t]+)*"
    r"(?:(?:[IVX]{1,5}|[ivx]{2,5})\.[ \t]+|\(?(?:[A-Za-z]|[IVXivx]{1,5}|\d{1,3})\)[ \t]+)?"
)
# what a model reads in place of characters that it does not know
PLAIN_SIGNS = {
    **dict.fromkeys("‘‚‛‹›", "'"),
    **dict.fromkeys("‐‑−", "-"),
    **dict.fromkeys("\u00ad\u200b\u2060\ufeff", ""),
    "…": "...",
}
SPACED_WORD = re.compile("[!-\u058f]+")  # ASCII to Armenian: alphabets of words between spaces


def normalise(text: str) -> str:
    """Return the text with single plain spaces and straight apostrophes, and none at its ends."""
    return with_straight_apostrophes(with_single_spaces(text))


def with_single_spaces(text: str) -> str:
    """Return the text with single plain spaces, and none at its ends. It has the same words."""
    return SPACES.sub(" ", text.strip())


def with_straight_apostrophes(text: str) -> str:
    """Return the text with straight apostrophes. It has the same length."""
    return text.translate(APOSTROPHES)


def composed(text: str, length: Callable[[str], int]) -> str:
    """Return the text in Unicode NFC, unless a model reads it better as it is.

    Some systems write an accented letter as two characters, a letter and a mark (NFD), which models
    of composed letters do not know. length: number of tokens of a text; the shorter text is read.
    """
    if is_normalized("NFC", text):
        return text
    form = nfc(text)
    return form if length(form) <= length(text) else text


def nfc(text: str) -> str:
    """Return the text with composed accents (Unicode NFC), as models are trained on it."""
    return to_form("NFC", text)


def is_unicode(text: str) -> bool:
    """Return False for a text with half a character of UTF-16, which JSON and Python can hold."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def outer_symbols(text: str) -> tuple[str, str]:
    """Return the emoji and white space before and after a text that has other characters.

    Marks of headings, lists and quotations, as in "## " and "- ", belong to what is before it.
    """
    start = next(n for n, sign in enumerate(text) if not is_outer(sign))
    end = len(text) - next(n for n, sign in enumerate(reversed(text)) if not is_outer(sign))
    if (marks := MARKS.match(text, start)) and start < marks.end() < end:
        start = marks.end()
    return text[:start], text[end:]


def is_outer(sign: str) -> bool:
    """Return True for white space, a character of an emoji, and other symbols such as bullets."""
    return sign.isspace() or category(sign) == "So" or sign in EMOJI_PARTS


def without_added_stop(text: str, source: str) -> str:
    """Return an output without a final full stop, `!` or `?` if its source ends without one.

    A model that has learnt sentences ends headings and cells like sentences, too.
    """
    tail = TAIL.search(source)
    if (tail and any(sign in STOPS for sign in tail[0])) or text[-2:-1] in STOPS:
        return text
    return text[:-1].rstrip() if text[-1:] in STOPS else text


def is_untranslatable(text: str) -> bool:
    """Return True for a text without letters, such as a number or a rule, and for an address.

    An address is one URL or e-mail address.
    """
    return not any(map(str.isalpha, text)) or bool(ADDRESS.fullmatch(text.strip()))


def is_spaced_word(text: str) -> bool:
    """Return True for one word of a script that writes spaces between words, such as Latin."""
    return bool(SPACED_WORD.fullmatch(text.strip()))


def is_all_capitals(text: str) -> bool:
    """Return True if a text has two or more words, all in capitals. One word may be an acronym."""
    return text.isupper() and sum(any(map(str.isalpha, word)) for word in text.split()) > 1


def sentence_case(text: str) -> str:
    """Return the text in lower case, except for its first letter."""
    first = next((n for n, letter in enumerate(text) if letter.isalpha()), 0)
    return text[: first + 1] + text[first + 1 :].lower()
