"""Numbers in digits as each language writes them.

localised("€1,234.56", "en", "de") == "1.234,56 €"
"""

from __future__ import annotations

import re
from typing import NamedTuple

HARD_SPACE = "\u00a0"
SIGN = "[€£¥₹$]"
DIGITS = r"\d{1,3}(?:[.,'’\u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?"
LARGE = (
    r"(?:millions?|billions?|trillions?|thousand|bn|[mk]|Mio|Mrd|Millionen|Milliarden?|milliards?"
    r"|mil(?:lones)?)\b"
)
WRITTEN = rf"(?P<before>{SIGN}\s?)?(?P<digits>{DIGITS})(?P<after>\s?{SIGN})?(?P<unit>\s?°\s?[CF]?)?"
NUMBER = (
    rf"(?<![\w.,])(?:{SIGN}\s?)?(?:{DIGITS})(?:\s?{SIGN}|\s?°\s?[CF]?(?!\w))?(?!\w|[.,:/-]\d|\s?{LARGE})"
    rf"|(?<![\w.,])(?:{DIGITS})(?!\w|[.,:/-]\d)"
)
SEPARATORS = "[.,'’\u00a0\u202f]"
ALONE = re.compile(rf"(?<![\w.,:/-])\d+(?:{SEPARATORS}\d+)*(?!\w|[.,:/-]\d)")


class NumberStyle(NamedTuple):
    """How a language writes numbers."""

    group: str
    decimal: str
    sign_first: bool


STYLES = {
    "en": NumberStyle(",", ".", True),
    "de": NumberStyle(".", ",", False),
    "es": NumberStyle(".", ",", False),
    "fr": NumberStyle(HARD_SPACE, ",", False),
}


def localised(number: str, source: str, target: str) -> str:
    """Return a number as a language writes it; unchanged for a language without a style.

    source: language of the text; if it is unknown, English is assumed, or German for English texts.
    """
    found = re.fullmatch(WRITTEN, number)
    if target not in STYLES or not found:
        return number
    source = source if source in STYLES else "de" if target == "en" else "en"
    if STYLES[source] == STYLES[target]:
        return number
    whole, fraction = _parts(found["digits"], STYLES[source])
    style = STYLES[target]
    text = style.group.join(whole) + (style.decimal + fraction if fraction else "")
    sign = ((found["before"] or "") + (found["after"] or "")).strip()
    if sign:
        text = sign + text if style.sign_first else f"{text}{HARD_SPACE}{sign}"
    return text + (found["unit"] or "")


def _parts(digits: str, style: NumberStyle) -> tuple[list[str], str]:
    """Return the groups of the integer, and the decimals."""
    *groups, last = re.split(SEPARATORS, digits)
    marks = re.findall(SEPARATORS, digits)
    if not groups:
        return [last], ""
    is_group = len(last) == 3 and len(groups[0]) <= 3 and groups[0][0] != "0"
    is_mark = len({*marks}) == 1 and (len(marks) > 1 or marks[0] != style.decimal)
    return ([*groups, last], "") if is_group and is_mark else (groups, last)


def number_forms(text: str, source: str, target: str) -> dict[str, tuple[str, ...]]:
    """Return the forms that each number with separators may have in an output, by its digits.

    The first is that of the target language, the other that of the text. Left out are numbers with
    the digits of another one.
    """
    found: dict[str, set[str]] = {}
    for number in ALONE.findall(text) if target in STYLES else ():
        found.setdefault(plain_digits(number), set()).add(number)
    return {
        digits: (localised(number, source, target), number)
        for digits, (number, *others) in found.items()
        if digits != number and not others
    }


def digits_of(text: str) -> list[str]:
    """Return the numbers of a text without their separators, sorted."""
    return sorted(map(plain_digits, re.findall(rf"\d+(?:{SEPARATORS}\d+)*", text)))


def plain_digits(text: str) -> str:
    """Return the digits of a text alone."""
    return re.sub(r"\D", "", text)
