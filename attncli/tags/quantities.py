"""Quantities: a number with a unit or currency, a time of the English clock, "No. 5".

    written("5 GB", "en", "fr") == "5 Go"
    written("EUR 1,234.50", "en", "de") == "1.234,50 EUR"
    written("5 p.m.", "en", "de") == "17:00"

measures.tsv has a kind (u: unit, e: unit of English texts, c: currency, l: taken out only after a
model has lost it), the signs of the source,
that of German, French and Spanish if it is another, the words for it in any language (a regular
expression of their beginnings), and a condition on what stands behind.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import models.text.phrases
from attncli.tags.numbers import DIGITS, LARGE, NUMBER, STYLES, localised

LANGUAGES = ("en", "de", "fr", "es")
# also a range, or a fraction as in 1 1/2
COUNT = rf"(?:(?:\d+ )?\d{{1,2}}/\d{{1,2}}(?!\d)|(?:(?:{DIGITS})\s?[-–]\s?)?(?:{DIGITS}))"
HALF = r"\s?(?:[ap]\.?m\b|[ap]\.\s?m\b)"
STOP = r"(?:\.(?!\s*$|\s+(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|[ECPM][SD]T|GMT|UTC)[A-Z]))?"
CLOCK = r"\d{1,2}(?:[:.][0-5]\d)?(?!\d)"
TIME = (
    rf"(?<![\w.,:/$€£])(?i:(?:{CLOCK}(?:{HALF}\.?)?(?:\s?[-–]\s?|\sto\s))?{CLOCK}{HALF}"
    r"|12 (?:noon|midnight)\b)"
)
CODE = r"(?:[A-Z]{1,3} ?)?(?=[\w/-]*\d)\w(?:[\w/-]*\w)?"
LABEL = rf"(?<!\w)[Nn]os?\.\s?{CODE}"
ONE_TIME = re.compile(rf"({CLOCK})({HALF}\.?)?|(noon|midnight)", re.IGNORECASE)
TO = {"en": "to", "de": "bis", "fr": "à", "es": "a"}
DAY_PART = (
    r"\b[ap]\.?\s?m\b|nachm|abend|morgen|vorm|früh|nacht|matin|apr[eè]s|soir|nuit|tarde|noche"
    r"|mañana"
)


class Quantity(NamedTuple):
    """A unit or a currency."""

    kind: str
    signs: tuple[str, ...]  # of the source; the first is the usual one
    shown: tuple[str, ...]  # in German, French and Spanish
    words: str
    when: str


@cache
def measures() -> dict[str, Quantity]:
    """Return the units and currencies by the signs for them in any text."""
    path = Path(models.text.phrases.__file__).with_name("measures.tsv")
    found: dict[str, Quantity] = {}
    for line in path.read_text("utf-8").splitlines():
        kind, signs, *others = [*line.split("\t"), *[""] * 5][:7]
        each = tuple(signs.split("|"))
        shown = tuple(one or each[0] for one in others[:3])
        measure = Quantity(kind, each, shown, others[3], others[4])
        international = (*each, *shown) if kind == "u" else each
        found.update((sign, measure) for sign in international)
    for sign, measure in [*found.items()]:
        if measure.kind == "u" and len(sign) > 1:
            found.setdefault(sign.upper(), measure)
    return found


@cache
def pattern(source: str = "", *, lazy: bool = True) -> str:
    """Return the pattern of a quantity with the groups measure, clock and label.

    source: language of the texts; times and labels are those of English alone. lazy: see `protect`.
    """
    is_english = source in ("", "en")
    other = ("" if is_english else "e") + ("" if lazy else "l")
    known = [item for item in measures().items() if item[1].kind not in other]
    known.sort(key=lambda item: -len(item[0]))
    alternatives: dict[bool, list[str]] = {True: [], False: []}
    for sign, one in known:
        condition = f"(?:{one.when})" if one.when else ""
        alternatives[one.kind == "c"].append(re.escape(sign) + condition)
    codes, units = ("|".join(alternatives[is_code]) for is_code in (True, False))
    unit = rf"(?:{units}|{codes})(?:/(?:100 ?)?(?:{units}))?(?![\w'’²³]|/\w|\.\w)"
    start = r"(?<![\w.,])(?<![€£$¥₹])(?<![€£$¥₹]\s)(?:[-−–+±](?=\d))?"
    found = (
        rf"(?P<measure>{start}{COUNT}(?:\s?|-(?=[a-z]{{2}})){unit}"
        rf"|(?<![\w.,-])(?:{codes})\s?{COUNT}(?!\w|[.,:/]\d|\s?{LARGE}))"
    )
    return rf"{found}|(?P<clock>{TIME}{STOP})|(?P<label>{LABEL})" if is_english else found


@cache
def _in_part() -> re.Pattern[str]:
    return re.compile(rf"{pattern().replace(STOP, '[.]?')}|(?P<plain>{NUMBER})")


def written(raw: str, source: str, target: str) -> str:
    """Return a text of quantities and numbers as the target language writes them.

    It is unchanged for a language without a style of numbers.
    """
    if target not in STYLES:
        return raw

    def one(found: re.Match[str]) -> str:
        if found.lastgroup == "clock":
            return _time(found[0], target)
        if found.lastgroup == "label":
            return _label(found[0], target)
        if found.lastgroup == "measure":
            return _measure(found[0], source, target)
        return localised(found[0], source, target)

    return _in_part().sub(one, raw)


def _measure(raw: str, source: str, target: str) -> str:
    head, count, tail = re.fullmatch(rf"(.*?)\s?({COUNT})(?:\s|-)?(\D*|\D+/100 ?\D+)", raw).groups()  # type: ignore[union-attr]
    count = re.sub(DIGITS, lambda number: localised(number[0], source, target), count)
    if head in measures():  # a currency, which English writes before the number
        head, tail = "", head
    signs = tail.split("/")
    signs = [tail] if tail in measures() else signs
    known = [measures().get(sign) for sign in signs]
    unit = "/".join(
        sign
        if not one
        else one.signs[0]
        if target == "en"
        else one.shown[LANGUAGES.index(target) - 1]
        for sign, one in zip(signs, known, strict=True)
    )
    if target == "en" and known[0] and known[0].kind == "c" and len(signs) == 1:
        return f"{head}{unit} {count}"
    return f"{head}{count}{'' if (target, unit) == ('en', '%') else ' '}{unit}"


def _hour(clock: str, half: str) -> tuple[int, str]:
    """Return the hour of 24 and the minutes of a time with a.m. or p.m."""
    hour, _, minutes = clock.replace(".", ":").partition(":")
    number = int(hour)
    if 0 < number < 13:
        number = number % 12 + 12 * ("p" in half.lower())
    return number, minutes or "00"


def _times(raw: str) -> list[tuple[int, str]]:
    """Return the hours and minutes of a time or a range; both of 9-11 a.m. are in the morning."""
    if word := re.search("noon|midnight", raw, re.IGNORECASE):
        return [(12 if word[0].lower() == "noon" else 0, "00")]
    found = [(one[1], one[2] or "") for one in ONE_TIME.finditer(raw)]
    last = _hour(*found[-1])
    first = _hour(found[0][0], found[0][1] or found[-1][1])
    if not found[0][1] and first > last:
        first = (first[0] - 12, first[1])
    return [first, last] if len(found) > 1 else [last]


def clock(raw: str) -> str:
    """Return a time of the English clock as 17:00; "" for a range."""
    times = _times(raw)
    return f"{times[0][0]}:{times[0][1]}" if len(times) == 1 else ""


def _time(raw: str, target: str) -> str:
    times = _times(raw)
    to = f" {TO[target]} " if " to " in raw else "–"
    if target == "fr":
        return to.join(f"{hour} h" + f" {rest}" * (rest != "00") for hour, rest in times)
    if target == "de":
        return to.join(f"{hour}" + f":{rest}" * (rest != "00") for hour, rest in times) + " Uhr"
    return to.join(f"{hour}:{rest}" for hour, rest in times)


def _label(raw: str, target: str) -> str:
    sign, code = re.fullmatch(rf"([Nn]os?\.)\s?({CODE})", raw).groups()  # type: ignore[union-attr]
    shown = {"de": "Nr.", "fr": f"{sign[0]}°", "es": f"{sign[0]}.º"}.get(target, sign)
    return f"{shown} {code}"


HAS_DIGIT = re.compile(r"\d")
CAPITAL_CODE = re.compile(
    r"(?<![\w.,/-])(?=[\dA-Z-]*\d)(?=[\d-]*[A-Z])[A-Z\d]+(?:-[A-Z\d]+)*(?![\w-]|/\w)(?!['’]s)"
)
ORDINAL = re.compile(r"\d+(?:ST|ND|RD|TH|S|AM|PM)")
COUNTED = re.compile(rf"(?:{DIGITS})")


def lost_quantity(source: str, output: str) -> str:
    """Return which unit, currency, half of the day or code of a text an output lacks; "" if none.

    A unit may be a word, if it follows its number. Numbers themselves are not compared.
    """
    if not HAS_DIGIT.search(source):
        return ""
    output = re.sub(r"(?<=\d) (?=\d{3}\b)", "\u00a0", output)  # thousands
    tails = [(_digits(one[0]), one.span()) for one in COUNTED.finditer(output)]
    rest = source
    for found in re.finditer(pattern(), source):
        rest = rest.replace(found[0], " ", 1)
        if found.lastgroup == "clock" and not _has_time(found[0], output):
            return f"{found[0]} is another time"
        if found.lastgroup == "measure" and not _has_unit(found[0], output, tails):
            return f"the unit of {found[0]} is missing"
    squeezed = re.sub(r"[\s-]", "", output)
    codes = (code for code in CAPITAL_CODE.findall(rest) if not ORDINAL.fullmatch(code))
    lost = (code for code in codes if code.replace("-", "") not in squeezed)
    return "".join(f"{code} is missing" for code in [*lost][:1])


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _has_unit(raw: str, output: str, found: list[tuple[str, tuple[int, int]]]) -> bool:
    *_, number = COUNTED.finditer(re.sub(r"/100.*|[²³]|(?<=[a-z])[23]", "", raw))
    sign = raw[: number.start()].strip() or raw[number.end() :].lstrip("- \u00a0")
    one = measures().get(sign) or measures().get(sign.split("/")[0])
    spans = [span for digits, span in found if digits == _digits(number[0])]
    if not one or not spans:
        return True
    long = (re.escape(form) for form in (*one.signs, *one.shown) if len(form) > 1)
    words = "|".join([*(rf"(?:{form})(?![^\W\d])" for form in long), one.words or "(?!)"])
    signs = "|".join(map(re.escape, (*one.signs, *one.shown)))
    behind = re.compile(rf"[\s-]?(?:(?:{signs})(?![^\W\d])|(?i:{words}))")
    before = re.compile(rf"(?:{signs}|{one.words or '(?!)'})\s?$", re.IGNORECASE)
    return any(
        behind.match(output, end) or (one.kind == "c" and before.search(output, 0, start))
        for start, end in spans
    )


def _has_time(raw: str, output: str) -> bool:
    if re.search(DAY_PART, output, re.IGNORECASE):
        return True
    return all(re.search(rf"(?<!\d){hour}(?!\d)", output) for hour, _ in _times(raw))
