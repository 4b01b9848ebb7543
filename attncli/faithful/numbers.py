"""Separators of digits as each language writes them.

localised("€1,234.56", "en", "de") == "1.234,56 €"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

HARD_SPACE = "\u00a0"
SIGN = "[€£¥₹$]"
SEPARATORS = "[.,'’\u00a0\u202f]"
GROUPS = rf"\d{{1,3}}(?:(?P<mark>{SEPARATORS})\d{{3}})(?:(?P=mark)\d{{3}})*(?!\d)(?:[.,]\d+)?"
# groups of three divided by spaces are a number beside a currency alone
SPACED = rf"(?:(?<={SIGN})\s?)?\d{{1,3}}(?: \d{{3}})+(?:[.,]\d+)?(?=\s?(?:{SIGN}|[A-Z]{{3}}\b))"
GROUPED = rf"(?:{SIGN}\s?)?(?:{SPACED}|{GROUPS})(?:\s?{SIGN})?"
WHOLE = re.compile(
    rf"(?P<minus>[-−]?)(?P<before>{SIGN}?)\s?"
    rf"(?P<digits>\d(?:[\d.,'’\u00a0\u202f ]*\d)?)\s?(?P<after>{SIGN}?)"
)
HALF_DAYS = re.compile(  # 7 p.m., 7:15 PM
    r"(?<![\d.,:])(\d{1,2})(?:[:.](\d\d))?\s?([aApP])\.?\s?[mM]\b(?:\.(?=\s*\S))?"
)
ENDS = r"(?=\.?\s*(?:[,;:!?)]|$))"
HALF = (  # not "5 am Bahnhof"
    rf"(?:\s?[AP]M|[ap]m|\s?[ap]\.\s?m|\s?[AP]\.\s?M|\spm|\sam{ENDS})\b(?:\.(?=\s*\S))?"
)
HOUR = r"\d{1,2}(?:[:.]\d\d)?"
HOURS = rf"{HOUR}(?:{HALF})?\s?[-–]\s?{HOUR}{HALF}"  # 9am-5:30pm
HALF_DAY = re.compile(rf"(?<![\w.,:–-]){HOUR}{HALF}(?!\s?[-–]\s?\d)\.?")  # 7 PM, 7:15pm
TIME = re.compile(rf"(?<![\d.,:]){HOUR}{HALF}")
HOURS_ALONE = re.compile(rf"{HOUR}(?:{HALF})?\.?")
SPACED_AM = re.compile(rf"(?<![\w.,:–-])({HOUR})\s(?=am\b)")
# 18 a.m. 30, as a model writes 18 Uhr 30
TIME_OF_24 = re.compile(rf"{TIME.pattern}(?:\s([0-5]\d)(?=[.,;!?)]|$))?")
AFTERNOON = r"(?:1[3-9]|2[0-4])(?:[:.]\d\d)?"
# 14 to 6 p.m.
BEHIND_24 = re.compile(rf"(?<![\d.,:])({AFTERNOON}\s?(?:[-–]|\b\w{{1,4}})\s?)({TIME.pattern})")
NOON = "12"
PRIVATE = "[\ue000-\uf8ff]"  # marks of parts
ZONED = re.compile(rf"{HALF}\s({PRIVATE})")  # 5 p.m. GMT
ZONE = re.compile(r"[A-Z]{2,4}(?:[+-]\d{1,2})?")
ROMAN = r"(?<![\w.-])(?=[IVX]{2})X{0,3}(?:IX|IV|V?I{0,3})(?![\w-])"  # numerals from II to XXXIX
FIGURES = re.compile(rf"\d+(?:{SEPARATORS}\d+)*")
QUANTITY = re.compile(r"((?:[A-Z]{3}\s?)?.*\d)((?:\s[^\d\s]\S*)?|\")")  # 5 kg, CHF 5, 15.6"
NUMBER = re.compile(rf"\d+(?:{SEPARATORS}\d{{3}}(?!\d))*")


class NumberStyle(NamedTuple):
    """Separators of a language, the side of its currency signs, and how it counts hours."""

    group: str
    decimal: str
    sign_first: bool
    half_days: bool = False


STYLES = {
    "en": NumberStyle(",", ".", True, half_days=True),
    "de": NumberStyle(".", ",", False),
    "es": NumberStyle(".", ",", False),
    "fr": NumberStyle(HARD_SPACE, ",", False),
}


def localised(number: str, source: str, target: str) -> str:
    """Return a number with groups of three as a language writes it; unchanged for other languages.

    source: language of the text; unknown, it is English, or German for English outputs. A mark
    without three digits behind it, or another one than that of the groups, begins the decimals.
    """
    found = WHOLE.fullmatch(number)
    if target not in STYLES or not found:
        return number
    source = source if source in STYLES else "de" if target == "en" else "en"
    groups = re.split(rf"{SEPARATORS}| ", found["digits"])
    marks = re.findall(rf"{SEPARATORS}| ", found["digits"])
    fraction = ""
    if marks and (len(groups[-1]) != 3 or (len(marks) > 1 and marks[-1] != marks[0])):
        fraction = groups.pop()
    elif marks == [STYLES[source].decimal] or groups[0][0] == "0":
        return number  # 1,234 of a German text has decimals
    style, minus = STYLES[target], found["minus"]
    text = style.group.join(groups) + (style.decimal + fraction if fraction else "")
    sign = found["before"] or found["after"]
    if not sign:
        return minus + text
    return f"{minus}{sign}{text}" if style.sign_first else f"{minus}{text}{HARD_SPACE}{sign}"


def in_style(raw: str, source: str, target: str) -> str:
    """Return a number, perhaps with a unit or a.m., or hours as the target language writes them."""
    if target in STYLES and not STYLES[target].half_days:
        if HALF_DAYS.fullmatch(raw.removesuffix(".")):
            return on_24_hours(raw)
        if re.fullmatch(HOURS, raw):
            return hours_on_24(raw)
    if (found := QUANTITY.fullmatch(raw)) and not WHOLE.fullmatch(raw):
        return FIGURES.sub(lambda one: localised(one[0], source, target), found[1]) + found[2]
    return localised(raw, source, target)


def on_24_hours(time: str) -> str:
    """Return a time with a.m. or p.m., such as 7:15 PM, as 19:15."""
    hour, minute, half = HALF_DAYS.findall(time)[0]
    return f"{int(hour) % 12 + 12 * (half in 'pP')}:{minute or '00'}"


def with_hours(
    text: str, language: str, source: str = "", shown: Callable[[str], str] = str
) -> str:
    """Return an output whose times are counted as its language and its source do.

    "2:30 p.m." of a German output is 14:30. For a source that counts the hours to 24, "15 a.m." is
    15:00, "12 a.m." 12:00, and "14 to 6 p.m." 14 to 18:00. shown: returns a text with the parts of
    its marks.
    """
    if language not in STYLES:
        return text
    if re.search(PRIVATE + HALF, text):
        text = re.sub(PRIVATE, lambda one: _as_hour(one[0], shown(one[0])), text)
    if not STYLES[language].half_days:
        for mark in filter(lambda one: ZONE.fullmatch(shown(one)), ZONED.findall(source)):
            text = re.sub(rf"(?<=[^\W\d_])\.(?=\s{mark})", "", text)  # "17 Uhr. GMT"
        return TIME.sub(lambda time: on_24_hours(time[0]), text)
    own = shown(source)
    if HALF_DAY.search(own):
        return TIME.sub(lambda time: _in_half_days(time, "", noon=False), text)
    noon = NOON in digits_of(own)
    text = TIME_OF_24.sub(lambda time: _in_half_days(time, time[1] or "", noon=noon), text)
    return BEHIND_24.sub(lambda found: found[1] + on_24_hours(found[2]), text)


def _as_hour(mark: str, part: str) -> str:
    return part if re.fullmatch(rf"(?:{HOUR}\s?[-–]\s?)?{HOUR}", part) else mark


def _in_half_days(time: re.Match[str], behind: str, *, noon: bool) -> str:
    """Return a time of an output in English. behind: minutes behind a.m. noon: 12 a.m. is noon."""
    [(hour, minute, half)] = HALF_DAYS.findall(time[0])
    if not 0 < int(hour) <= int(NOON) or (noon and hour == NOON and half in "aA"):
        return f"{hour}:{minute or behind or '00'}"
    stop = time.string[time.end() :].startswith(".")
    return f"{hour}:{behind} {half}.m{'' if stop else '.'}" if behind else time[0]


def with_half_days(text: str, own: str = "", to: str = "") -> str:
    """Return a text with 7 p.m. for 7 PM and 7pm, as most texts of a training have it.

    own, to: languages of the text and of the output. Where hours are counted to 24, midnight is
    0 a.m., which a model does not take for noon.
    """
    if own not in ("", "de"):  # "um 5 am Bahnhof"
        text = SPACED_AM.sub(r"\1", text)
    to_24 = to in STYLES and not STYLES[to].half_days

    def spelled(time: re.Match[str]) -> str:
        [(hour, minute, half)] = HALF_DAYS.findall(time[0])
        if to_24 and hour == NOON and half in "aA":
            hour = "0"
        return f"{hour}{minute and f':{minute}'} {half.lower()}.m."

    return HALF_DAY.sub(spelled, text)


def hours_on_24(hours: str) -> str:
    """Return hours such as 9am-5:30pm as 9:00–17:30. In 9-5pm and 2-5pm, 9 is a.m. and 2 is p.m."""
    first, last = re.split(r"\s?[-–]\s?", hours)
    end = on_24_hours(last)
    if not HALF_DAYS.search(first):
        begins, ends = (int(re.split("[:.]", time)[0]) for time in (first, end))
        is_morning = (ends < 12) == (begins % 12 <= ends % 12)
        first += "am" if is_morning else "pm"
    return f"{on_24_hours(first)}–{end}"


def digits_of(text: str) -> list[str]:
    """Return the numbers of a text without groups and leading zeros; decimals are numbers too."""
    return [re.sub(r"\D", "", number).lstrip("0") or "0" for number in NUMBER.findall(text)]


def roman_numerals(text: str) -> list[tuple[str, int]]:
    """Return the Roman numerals of a text from II to XXXIX, with their values."""
    long = (
        (one, one.replace("IV", "IIII").replace("IX", "VIIII")) for one in re.findall(ROMAN, text)
    )
    return [(one, sum({"I": 1, "V": 5, "X": 10}[sign] for sign in signs)) for one, signs in long]
