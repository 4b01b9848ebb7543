"""Quantities as each language writes them: with a unit, a currency, a time, "No. 5".

    written("5 GB", "en", "fr") == "5 Go"
    written("5 p.m.", "en", "de") == "17:00"

measures.tsv has a kind (u: unit, e: unit of English texts, c: currency, l: taken out only after a
model has lost it), the signs of the source, that of German, French and Spanish if it is another,
the words for it in any language (a regular expression of their beginnings), and a condition on what
stands behind.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import models.text.phrases
from attncli.tags.number_words import SMALL, amounts
from attncli.tags.numbers import (
    DIGITS,
    LARGE,
    NUMBER,
    SIGN,
    STYLES,
    localised,
    plain_digits,
)
from models.text.phrases import LANGUAGES

LARGER = (  # behind digits, with the sign or code of a currency before or after them
    r"(?:[mkM]\b|\s?[Mk](?=[€$£])|[\s-]?(?:millions?|billions?|trillions?|thousand|bn|tn|Mio\.?|Mrd\.?|Md|Millionen"
    r"|Million|Milliarden?|milliards?|mil(?: millones)?|millones|mill[oó]n|mille)(?!\w))"
)
MONEY = {  # in German, French and Spanish
    "$": ("Dollar", "dollars", "dólares"),
    "€": ("Euro", "euros", "euros"),
    "£": ("Pfund", "livres", "libras"),
    "¥": ("Yen", "yens", "yenes"),
    "₹": ("Rupien", "roupies", "rupias"),
}
MONEY |= {"EUR": MONEY["€"], "GBP": MONEY["£"]}
POWERS = {  # of ten: one, and several
    "en": {6: ("million",) * 2, 9: ("billion",) * 2, 12: ("trillion",) * 2},
    "de": {
        6: ("Million", "Millionen"),
        9: ("Milliarde", "Milliarden"),
        12: ("Billion", "Billionen"),
    },
    "fr": {6: ("million", "millions"), 9: ("milliard", "milliards"), 12: ("billion", "billions")},
    "es": {6: ("millón", "millones"), 9: ("mil millones",) * 2, 12: ("billón", "billones")},
}
# also a range, or a fraction as in 1 1/2
COUNT = rf"(?:(?:\d+ )?\d{{1,2}}/\d{{1,2}}(?!\d)|(?:(?:{DIGITS})\s?[-–]\s?)?(?:{DIGITS}))"
HALF = r"\s?(?:[ap]\.?m\b|[ap]\.\s?m\b)"
STOP = r"(?:\.(?!\s*$|\s+(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|[ECPM][SD]T|GMT|UTC)[A-Z]))?"
CLOCK = r"\d{1,2}(?:[:.][0-5]\d)?(?!\d)"
TIME = (
    rf"(?<![\w.,:/$€£])(?i:(?:{CLOCK}(?:{HALF}\.?)?(?:\s?[-–]\s?|\sto\s))?{CLOCK}{HALF}"
    r"|12 (?:noon|midnight)\b)"
)
# before a time in words: not "ten to twelve dogs", nor "pendant deux heures et demie"
AT = "(?:(?<=at )|(?<=it is )|(?<=it's )|(?<=à )|(?<=est )|(?<=vers )|(?<=las )|(?<=la ))"
NUMBERS = {language: "|".join(words.split()[1:13]) for language, words in SMALL.items()}
HOUR = rf"(?:{NUMBERS['en']}|1[0-2]|[1-9])(?![\w-]|[.:]\d)(?:{HALF}{STOP})?"
IN_WORDS = {
    "en": rf"half past {HOUR}|(?:a )?quarter (?:past|after|to) {HOUR}"
    rf"|(?:five|ten|twenty(?:[- ]five)?)(?: minutes)? past {HOUR}"
    rf"|(?:five|ten|twenty(?:[- ]five)?) minutes to {HOUR}"
    rf"|{AT}(?:five|ten|twenty(?:[- ]five)?) to {HOUR}(?! [a-z]+s\b)"
    rf"|(?:{NUMBERS['en']})-(?:fifteen|thirty|forty-five)(?![\w-])(?:{HALF}{STOP})?",
    "de": r"(?:halb|dreiviertel|(?:viertel|fünf|zehn|zwanzig) (?:vor|nach))"
    r" (?:eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf)(?: Uhr)?\b",
    "fr": rf"{AT}(?:une|{NUMBERS['fr']}) heures? "
    r"(?:et demie|et quart|(?:moins )?(?:le quart|cinq|dix|vingt(?:-cinq)?))\b",
    "es": rf"{AT}(?:una|{NUMBERS['es']}) "
    r"(?:y|menos) (?:media|cuarto|cinco|diez|veinte|veinticinco)\b",
}
SHARES = {"quarter": 15, "half": 30, "halb": 30, "dreiviertel": 15, "viertel": 15}  # of an hour
SHARES |= {"demie": 30, "quart": 15, "media": 30, "cuarto": 15}
BEFORE = re.compile(r"\b(?:to|vor|moins|menos|halb|dreiviertel)\b")
CODE = r"(?:[A-Z]{1,3} ?)?(?=[\w/-]*\d)\w(?:[\w/-]*\w)?"
LABEL = rf"(?<!\w)[Nn]os?\.\s?{CODE}"
DECADE = r"(?<![\w.,$-])(?:1[5-9]|20)\d0s\b"
DECADES = {"fr": "années", "es": "años"}  # German is left to the model, which inflects "1990er"
ONE_TIME = re.compile(rf"({CLOCK})({HALF})?", re.IGNORECASE)
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

    def sign(self, target: str) -> str:
        """Return the usual sign in a language."""
        return self.signs[0] if target == "en" else self.shown[LANGUAGES.index(target) - 1]


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
def pattern(source: str = "", target: str = "", *, lazy: bool = True) -> str:
    """Return the pattern of a quantity with the groups measure, clock and label.

    source: language of the texts; times in figures and labels are those of English alone. If it is
    unknown, texts for the target English have times in words of any language. lazy: see `protect`.
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
    start += r"(?!\d+A\b|(?:1[5-9]|20)?\d0s\b)"  # seat 23A, the 1990s
    found = (
        rf"(?P<measure>{start}{COUNT}(?:\s?|-(?=[a-z]{{2}})){unit}"
        rf"|(?<![\w.,-])(?:{codes})\s?{COUNT}(?!\w|[.,:/]\d|\s?{LARGE}))"
        rf"|(?P<large>(?<![\w.,])(?:(?:{SIGN}|(?:{codes})\s)\s?(?:{DIGITS}){LARGER}"
        rf"|(?:{DIGITS}){LARGER}\s?(?:{SIGN}|(?:{codes})(?!\w))))"
    )
    times = IN_WORDS.get(source or "en", "(?!)")
    if not source and target == "en":
        times = "|".join(IN_WORDS.values())
    words = rf"(?<![\w-])(?i:{times})"
    if not is_english:
        return rf"{found}|(?P<clock>{words})"
    return rf"{found}|(?P<clock>{TIME}{STOP}|{words})|(?P<label>{LABEL})|(?P<decade>{DECADE})"


@cache
def _in_part() -> re.Pattern[str]:
    return re.compile(rf"{pattern().replace(STOP, '[.]?')}|(?P<plain>{NUMBER})")


def written(raw: str, source: str, target: str) -> str:
    """Return a text of quantities and numbers as the target language writes them.

    It is unchanged for a language without a style of numbers.
    """
    if target not in STYLES:
        return raw
    if _in_figures(raw) != raw:
        return _time(raw, target)

    def one(found: re.Match[str]) -> str:
        if found.lastgroup == "clock":
            return _time(found[0], target)
        if found.lastgroup == "label":
            sign, _, code = found[0].partition(".")
            shown = {"de": "Nr.", "fr": f"{sign[0]}°", "es": f"{sign[0]}.º"}.get(target, f"{sign}.")
            return f"{shown} {code.lstrip()}"
        if found.lastgroup == "large":
            return _large(found[0], source, target)
        if found.lastgroup == "decade":
            return f"{DECADES[target]} {found[0][:-1]}" if target in DECADES else found[0]
        if found.lastgroup == "measure":
            return _measure(found[0], source, target)
        return localised(found[0], source, target)

    return _in_part().sub(one, raw)


def _large(raw: str, source: str, target: str) -> str:
    """Return a price with a magnitude, such as "$1.5 million" or "3 Mrd. EUR"."""
    each = (amounts(raw, language) for language in (source, *LANGUAGES))
    value = next((found[0].value for found in each if len(found) == 1 and found[0].in_words), 0)
    sign = re.search(rf"{SIGN}|[A-Z]{{3}}", raw)[0]  # type: ignore[index]
    if not value:
        return raw
    if value < 10**6 and not sign.isalpha():
        return localised(f"{sign}{value:,.0f}", "en", target)
    digits = _with_power(value, target)
    if target == "en":
        return f"{sign}{' ' * sign.isalpha()}{digits}"
    if value < 10**6 or sign not in MONEY:
        return f"{digits} {sign}"
    name = MONEY[sign][LANGUAGES.index(target) - 1]
    of = "" if target == "de" else "d'" if target == "fr" and name[0] == "e" else "de "
    return f"{digits} {of}{name}"


def _with_power(value: float, target: str) -> str:
    """Return a number of millions or more with the word for them; a smaller one in digits."""
    power = next((one for one in (12, 9, 6) if value >= 10**one), 0)
    if target == "es" and power == 9 and value % 10**9:
        power = 6  # 1.500 millones
    count = value / 10**power
    digits = localised(f"{count:,.3f}".rstrip("0").rstrip("."), "en", target)
    several = count >= 2 if target == "fr" else count != 1
    return f"{digits} {POWERS[target][power][several]}" if power else digits


def _measure(raw: str, source: str, target: str) -> str:
    head, count, tail = re.fullmatch(rf"(.*?)\s?({COUNT})(?:\s|-)?(\D*|\D+/100 ?\D+)", raw).groups()  # type: ignore[union-attr]
    count = re.sub(DIGITS, lambda number: localised(number[0], source, target), count)
    if head in measures():  # a currency, which English writes before the number
        head, tail = "", head
    signs = tail.split("/")
    signs = [tail] if tail in measures() else signs
    known = [measures().get(sign) for sign in signs]
    unit = "/".join(
        one.sign(target) if one else sign for sign, one in zip(signs, known, strict=True)
    )
    if target == "en" and known[0] and known[0].kind == "c" and len(signs) == 1:
        return f"{head}{unit} {count}"
    return f"{head}{count}{'' if (target, unit) == ('en', '%') else ' '}{unit}"


def _times(raw: str) -> list[tuple[int, str]]:
    """Return the hours of 24 and the minutes of a time or a range with a.m. or p.m.

    Both times of 9-11 a.m. are in the morning.
    """
    if word := re.search("noon|midnight", raw, re.IGNORECASE):
        return [(12 if word[0].lower() == "noon" else 0, "00")]
    found = ONE_TIME.findall(_in_figures(raw))
    times = []
    for clock, half in found:
        hour, _, minutes = clock.replace(".", ":").partition(":")
        number = int(hour)
        if 0 < number < 13 and found[-1][1]:
            number = number % 12 + 12 * ("p" in (half or found[-1][1]).lower())
        times.append((number, minutes or "00"))
    if not found[0][1] and times[0] > times[-1]:
        times[0] = (times[0][0] - 12, times[0][1])
    return times


def _in_figures(raw: str) -> str:
    """Return a time in words as 2:30 or 2:30 pm; another text as it is."""
    forms = IN_WORDS.items()
    language = next((one for one, form in forms if _alone(form).fullmatch(raw)), "")
    if not language:
        return raw
    # a comma, because "eleven-fifteen" would be 1115, and "diez y cinco" 15
    text = re.sub(r"^([a-z]+)(?: y |-(?!five\b))", r"\1, ", raw.lower())
    for word, share in SHARES.items():
        text = re.sub(rf"\b{word}\b", str(share), text)
    minute, hour = (int(one.value) for one in amounts(text, language))
    if language in ("fr", "es") or not re.search(
        " (?:past|to|after|vor|nach) |halb|drei", raw, re.I
    ):
        hour, minute = minute, hour
    if BEFORE.search(raw.lower()):
        hour, minute = (hour - 2) % 12 + 1, 60 - minute
    half = re.search(HALF, raw)
    return f"{hour}:{minute:02}{half[0] if half else ''}"


@cache
def _alone(form: str) -> re.Pattern[str]:
    """Return a pattern for a text of its own, without what is around it in a line."""
    return re.compile(form.replace(STOP, "[.]?").replace(AT, ""), re.IGNORECASE)


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


# LH 400; but not what is translated, nor words in capitals
SPACED_CODE = re.compile(
    r"(?<![\w.,/-])(?!(?:UN|EU|US|UK|USA|UAE|AD|BC|BCE|CE|AM|PM|NO|NOT|IN|ON|AT|TO|OF|BY|OR|AND|FOR|THE|ALL|IS|ARE"
    r"|WAS|ONE|TWO|TOP|MAX|MIN|DM|TV|UM|AM|IM|VON|DER|DIE|DAS|BIS|UND|LES|DES|DE|ET|LOS|LAS)\b)"
    r"([A-Z]{2,3}) (\d{2,4})(?![\w%°]|[.,:-]\w)"
)
CAPITAL_CODE = re.compile(
    r"(?<![\w.,/-])(?=[\dA-Z-]*\d)(?=[\d-]*[A-Z])[A-Z\d]+(?:-[A-Z\d]+)*(?![\w-]|/\w)(?!['’]s)"
)
ORDINAL = re.compile(r"\d+(?:ST|ND|RD|TH|S|AM|PM)")
COUNTED = re.compile(rf"(?:{DIGITS})")
LONGEST = 99  # characters of a currency before its number


def lost_quantity(source: str, output: str) -> str:
    """Return which unit, currency, half of the day or code of a text an output lacks; "" if none.

    A unit may be a word, if it follows its number. Numbers themselves are not compared.
    """
    if not re.search(r"\d", source):
        return ""
    output = re.sub(r"(?<=\d) (?=\d{3}\b)", "\u00a0", output)  # thousands
    tails = [(plain_digits(one[0]), one.span()) for one in COUNTED.finditer(output)]
    rest = source
    for found in re.finditer(pattern(), source):
        rest = rest.replace(found[0], " ", 1)
        in_words = not re.match(r"\d", found[0])  # "halb drei" has other words
        if found.lastgroup == "clock" and not in_words and not _has_time(found[0], output):
            return f"{found[0]} is another time"
        if found.lastgroup == "measure" and not _has_unit(found[0], output, tails):
            return f"the unit of {found[0]} is missing"
    for letters, digits in SPACED_CODE.findall(rest) if not source.isupper() else ():
        if not re.search(rf"(?<!\w){letters}[\s-]?{digits}(?!\d)", output):
            return f"{letters} {digits} is missing"
    squeezed = re.sub(r"[\s-]", "", output)
    codes = (code for code in CAPITAL_CODE.findall(rest) if not ORDINAL.fullmatch(code))
    lost = (code for code in codes if code.replace("-", "") not in squeezed)
    return "".join(f"{code} is missing" for code in [*lost][:1])


def _has_unit(raw: str, output: str, found: list[tuple[str, tuple[int, int]]]) -> bool:
    *_, number = COUNTED.finditer(re.sub(r"/100.*|[²³]|(?<=[a-z])[23]", "", raw))
    sign = raw[: number.start()].strip() or raw[number.end() :].lstrip("- \u00a0")
    one = measures().get(sign) or measures().get(sign.split("/")[0])
    spans = [span for digits, span in found if digits == plain_digits(number[0])]
    if not one or not spans:
        return True
    long = (re.escape(form) for form in (*one.signs, *one.shown) if len(form) > 1)
    words = "|".join([*(rf"(?:{form})(?![^\W\d])" for form in long), one.words or "(?!)"])
    signs = "|".join(map(re.escape, (*one.signs, *one.shown)))
    behind = re.compile(rf"[\s-]?(?:(?:{signs})(?![^\W\d])|(?i:{words}))")
    before = re.compile(rf"(?:{signs}|{one.words or '(?!)'})\s?$", re.IGNORECASE)
    return any(
        behind.match(output, end)
        or (one.kind == "c" and before.search(output, max(0, start - LONGEST), start))
        for start, end in spans
    )


def _has_time(raw: str, output: str) -> bool:
    hours = (re.search(rf"(?<!\d){hour}(?!\d)", output) for hour, _ in _times(raw))
    return bool(re.search(DAY_PART, output, re.IGNORECASE)) or all(hours)
