"""Normalisation of texts, and the preparation that a model was trained with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from unicodedata import category, is_normalized
from unicodedata import normalize as to_form

from models.core.errors import InputError
from models.core.use_config import PrepareConfig

# all white space: a tab inside a sentence is a space to a model
SPACES = re.compile("[\t-\r\x1c-\x20\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
APOSTROPHE_SIGNS = "\u2019\u02bc\uff07"
APOSTROPHES = str.maketrans(dict.fromkeys(APOSTROPHE_SIGNS, "'"))
HALF = re.compile("[\ud800-\udfff]")  # of a character in UTF-16
STOPS = tuple(".!?…:;。！？")
ABBREVIATION = re.compile(r"(?<!\w)(?:[^\W\d_]\.){2,}$")  # a.m., U.S.A.
TAIL = re.compile(r"(?<!\W)\W*$")
ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+|[^\s@]+@(?=[^\s@]+\.[^\s@])[^\s@]+", re.IGNORECASE
)
# joiners and skin tones
EMOJI_PARTS = "\u200d\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"

# of a heading, an item, a check box, a quotation or an enumeration (I. a) (2) iv.) in plain text
MARKS = re.compile(
    r"(?:[#>*+:-]+[ \t]+(?:\[[ xX]\][ \t]+(?=\S))?|\*+(?=\w)(?![^*]*\*))*"
    r"(?:(?:[IVX]{1,5}|[ivx]{1,5}|[A-Za-z])\.[ \t]+(?=[^\W\d_])"
    r"|\(?(?:[A-Za-z]|[IVXivx]{1,5}|\d{1,3})\)[ \t]+)?"
)
# what a model reads in place of characters that it does not know
PLAIN_SIGNS = {
    **dict.fromkeys("‘‚‛‹›", "'"),
    **dict.fromkeys("‐‑−", "-"),
    **dict.fromkeys("\u00ad\u200b\u2060\ufeff", ""),
    "…": "...",
}
SPACED_WORD = re.compile("[!-\u058f]+")  # ASCII to Armenian: alphabets of words between spaces
SIGNS = f"'{APOSTROPHE_SIGNS}"
KNOWN = 0.02  # share of the training sources from which on the model knows a way of writing
SPACE_MARK = "\u2581"  # of a token of SentencePiece


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
    return not HALF.search(text)


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
    if ABBREVIATION.search(text):
        return text
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


def prepared(text: str, config: PrepareConfig) -> str:
    """Return a text with the spaces and apostrophes that the model knows."""
    return with_apostrophes(SPACES.sub(" ", text) if config.spaces else text, config)


def with_apostrophes(text: str, config: PrepareConfig) -> str:
    """Return the text with apostrophes that the model knows. It has the same length."""
    return text.translate(_replacements(config.apostrophes)) if config.apostrophes else text


@cache
def _replacements(known: str) -> dict[int, str]:
    return {ord(sign): known[0] for sign in SIGNS if sign not in known}


def preparation_for(sources: Sequence[str], targets: Sequence[str]) -> PrepareConfig:
    """Return the preparation for a model that is trained on sources with their translations.

    A text is changed only where the training sources were not written so. The model stores this
    preparation, so that every use of it reads a text in the same way.
    """
    texts = [source for source in sources if source.strip()]

    def has_symbols(text: str) -> bool:
        return not all(map(is_outer, text)) and any(outer_symbols(text.strip()))

    def usual(is_so: Callable[[str], bool]) -> bool:
        return sum(map(is_so, texts)) >= least

    least = max(1, KNOWN * len(texts))
    pairs = [*zip(sources, targets, strict=True)]
    translated = sum(is_untranslatable(text) and text != other for text, other in pairs)
    stopped = sum(without_added_stop(other, text) != other for text, other in pairs)
    signs = Counter(sign for text in texts for sign in set(text).intersection(SIGNS))
    known = [sign for sign, count in signs.most_common() if count >= KNOWN * signs.total()]
    return PrepareConfig(
        apostrophes="".join(known) or "'",  # the most frequent one first
        spaces=not usual(lambda text: with_single_spaces(text) != text.strip()),
        symbols=not usual(has_symbols),
        copies=translated < least,
        capitals=not usual(is_all_capitals),
        ends=stopped < least,
    )


def check_untokenised(texts: Iterable[str], name: str) -> None:
    """Raise InputError if most texts are tokens of SentencePiece, which would be tokenised again.

    name: of the file, for the message.
    """
    marked = [text.startswith(SPACE_MARK) for text in texts if text.strip()]
    if 2 * sum(marked) > len(marked):
        raise InputError(
            f"{name} contains SentencePiece tokens ({SPACE_MARK})",
            "plain text, which training tokenises itself",
            f"join the tokens: sed 's/ //g; s/{SPACE_MARK}/ /g; s/^ //; s/\\t /\\t/g'",
        )
