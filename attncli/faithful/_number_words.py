"""Numbers that are written in words, in the languages of num2words.

numbers_in_words("forty-two dogs", "en") == {42}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from os.path import commonprefix
from unicodedata import combining, normalize

COUNTED = range(101)  # numbers that are always looked for, so that 20 is not found in 25
# neither idioms, dozens, hours (half past ten is "halb elf") nor parts of an hour
CLEAR = frozenset(range(13, 100)) - {15, 30, 45}
LARGEST = 10_000_000  # a larger number is hardly in words
ENDING = r"[^\W\d_b-dfghj-lpqv-z]{0,2}"  # of an inflected word; none has one of these consonants


def numbers_in_words(text: str, language: str, wanted: Iterable[int]) -> set[int] | None:
    """Return the numbers that a text has in words; None for a language that num2words lacks.

    wanted: numbers that are looked for, besides those up to 100. Ordinals count.
    """
    numbers = frozenset(number for number in wanted if number <= LARGEST)
    if not (found := _finder(language, numbers)):
        return None
    pattern, values, _ = found
    return {values[match[1]] for match in pattern.finditer(_plain(text))}


def clear_numbers(text: str, language: str) -> set[int]:
    """Return the numbers of CLEAR that a text has in words."""
    starts = found[2] if (found := _finder(language, frozenset())) else ()
    if not any(word[:4] in starts for word in _plain(text).split()):
        return set()
    return (numbers_in_words(text, language, ()) or set()) & CLEAR


@lru_cache(maxsize=64)
def _finder(
    language: str, wanted: frozenset[int]
) -> tuple[re.Pattern[str], dict[str, int], set[str]] | None:
    """Return a pattern of the words of some numbers, the number of each, beginnings of CLEAR."""
    # imported here because it takes 20 ms, which lines of unknown language do not need
    from num2words import CONVERTER_CLASSES

    if not (converter := CONVERTER_CLASSES.get(language)):
        return None
    one = commonprefix([converter.to_cardinal(1), converter.to_cardinal(10**6).split()[0]])
    values: dict[str, int] = {}
    for number in sorted({*COUNTED, *wanted}):
        for form in (converter.to_cardinal(number), *_ordinals(converter, number)):
            form = _plain(form.replace(",", ""))
            values.setdefault(form, number)
            if number in (100, 1000):  # (one) hundred
                values.setdefault(form.removeprefix(one).strip(), number)
    values[one] = 1
    forms = sorted(filter(None, values), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, forms))}){ENDING}(?!\w)")
    return pattern, values, {form.split()[0][:4] for form, n in values.items() if n in CLEAR}


def _ordinals(converter: object, number: int) -> list[str]:
    """Return the ordinal without a vowel at its end, which is that of an inflection."""
    try:
        return [converter.to_ordinal(number).rstrip("aeiouy")]  # type: ignore[attr-defined]
    except (NotImplementedError, TypeError, IndexError, KeyError):
        return []


def _plain(text: str) -> str:
    """Return a text in small letters without accents and hyphens."""
    letters = text.casefold().replace("-", " ")
    if letters.isascii():
        return letters
    letters = normalize("NFD", letters)
    return "".join(letter for letter in letters if not combining(letter))
