"""The last check of a translation: what must be in it, and what must not, in any language.

    check("12 euros", "21 Euro") == (Check("digits", "12 is missing, 21 is new"),)

The texts may be anybody's: `attn evaluate --checks` reports the same for a given translation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from attncli.faithful._number_words import clear_numbers, numbers_in_words
from attncli.faithful.branches import branches
from attncli.faithful.numbers import HALF_DAYS, digits_of, on_24_hours, roman_numerals
from attncli.faithful.pieces import scanned, tag_counts
from attncli.faithful.protect import FIRST, MARK, SOFT, Part, is_sign, protect, restore
from attncli.faithful.spans import UNSPACED, has_word
from models.search.repeats import repetition

LOOP = 3  # times that a phrase occurs in a row, at least
LONGEST, SHORTEST = 3.0, 0.25  # times as many characters as the source,
# short labels differ in length by more than these factors
LEEWAY = 60  # more or less
MOST_IN_WORDS = 2  # digits before the zeros at the end of a number that may be in words
LONGEST_IN_WORDS = 7  # digits of it, where the words are known
THOUSANDS = re.compile(r"(?<=\d) (?=\d{3}\b)")  # the space between them
HALF_DAY = 12  # hours between both ways to count those of a day
CLOCK = re.compile(r"(?<!\d)(\d{1,2})\s?(?:[:.h]|h(?:eures?)?\s)\s?([0-5]\d)(?!\d)")
QUOTES = re.compile('["„“”«»]')
BETWEEN_MARKS = re.compile("[\ue000-\uf8ff][^\ue000-\uf8ff]+(?=([\ue000-\uf8ff]))")
CLOSERS = ("](", "]]", ">", "</", "[/", "\\fR", "\\fP")  # parts that end a text
EQUAL = ("**", "''", "'''")  # parts that begin a text, and end it
DAMAGED = "\ufffd"  # a character that could not be decoded
SAMPLE, UNFAITHFUL = 2000, 0.1  # pairs of a training that are checked; share that may fail
NAMES = {
    "digits": "other numbers",
    "parts": "a part that must not change",
    "signs": "other signs",
    "quotes": "a quotation mark without its pair",
    "tags": "other tags",
    "empty": "nothing where the source has words",
    "repetition": "a repetition loop",
    "length": "an unusual length",
    "characters": "a damaged character",
}


Languages = tuple[str, str]  # of a source and of its translation; "" if unknown


class Check(NamedTuple):
    """A check that a translation failed."""

    name: str  # of NAMES
    found: str  # what is wrong, for messages


def check(source: str, output: str) -> tuple[Check, ...]:
    """Return the checks that a translation of a text fails; both texts may have tags."""
    segments = scanned(source), scanned(output)
    wanted, found = map(tag_counts, segments)
    source, output = ("".join(one.text or " " for one in side) for side in segments)
    difference = _told(wanted - found, found - wanted)
    checks = [Check("tags", difference)] if difference else []
    _, parts = protect(source)
    # quotes may be those of the language, and numbers are compared by their digits
    raws = [part.raw.strip("\\\"'") or part.raw for part in parts if not branches(part.raw)]
    shown = [raw for raw in raws if not digits_of(raw) or any(map(str.isalpha, raw))]
    missing = Counter(shown)
    for raw in missing:
        missing[raw] -= output.count(raw)
    if lost := +missing:
        checks.append(Check("parts", _told(lost, Counter())))
    return (*checks, *check_plain(_without(source, shown), _without(output, shown)))


def lacks_parts(checks: Sequence[Check]) -> bool:
    """Return True if an output lacks a part that must not change, such as a placeholder."""
    return any(check.name == "parts" for check in checks)


def are_faithful(sources: Sequence[str], targets: Sequence[str]) -> bool:
    """Return True if most targets pass the checks, as those of translations do.

    Phones of words, or dates in another form, do not.
    """
    pairs = [pair for pair in zip(sources, targets, strict=True) if pair[0].strip()]
    pairs = pairs[:: max(1, len(pairs) // SAMPLE)]
    failed = sum(bool(check_plain(*pair)) for pair in pairs)
    return failed <= UNFAITHFUL * len(pairs)


def check_marked(
    source: str,
    output: str,
    parts: Sequence[Part],
    languages: Languages = ("", ""),
    *,
    cut: bool = False,
) -> tuple[Check, ...]:
    """Return the checks that an output fails; both texts have marks for the protected parts.

    cut: True if the output ended at its length limit.
    """
    wanted, found = MARK.findall(source), MARK.findall(output)
    checks = []
    if Counter(wanted) != Counter(found):
        lost, new = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
        known = (one for one in lost or new if ord(one) - FIRST < len(parts))
        raws = dict.fromkeys(restore(one, parts, source=True) for one in known) or ("a part",)
        told = f"{', '.join(raws)} is {'missing' if lost else 'repeated'}"
        checks.append(Check("parts", told))
    elif _in_order(wanted, parts) != _in_order(found, parts):
        checks.append(Check("parts", "another order of placeholders without numbers"))
    elif raw := _emptied(source, output, parts):
        checks.append(Check("parts", f"{raw} has no text"))
    if difference := changed_signs(source, output):
        checks.append(Check("signs", difference))
    quotes = QUOTES.findall(output)
    # an odd number in the source may be inches or an apostrophe
    if len(quotes) % 2 > len(QUOTES.findall(source)) % 2:
        checks.append(Check("quotes", f"{len(quotes)} quotation marks"))
    checks += check_plain(source, output, languages, cut=cut)
    told = changed_forms(source, output, languages)
    if told and not any(one.name == "digits" for one in checks):
        checks.append(Check("digits", told))
    return tuple(checks)


def check_plain(
    source: str, output: str, languages: Languages = ("", ""), *, cut: bool = False
) -> tuple[Check, ...]:
    """Return the checks on numbers, length, loops and characters; cut: see `check_marked`."""
    checks = []
    if difference := changed_digits(source, output, languages):
        checks.append(Check("digits", difference))
    if not has_word(output) and has_word(HALF_DAYS.sub("", MARK.sub("", source))):
        checks.append(Check("empty", "the output has no words"))
    checks += check_loop(source, output)
    # scripts without spaces need far fewer characters, so lengths cannot be compared
    if cut or not UNSPACED.search(source + output):
        ratio = f"{len(output):,} characters for {len(source):,}"
        least = len(source) * SHORTEST - LEEWAY / 4
        if cut:
            checks.append(Check("length", "the output was cut at its length limit"))
        elif not least <= len(output) <= len(source) * LONGEST + LEEWAY:
            checks.append(Check("length", ratio))
    if output.count(DAMAGED) > source.count(DAMAGED):
        checks.append(Check("characters", "U+FFFD in the output"))
    return tuple(checks)


def check_loop(source: str, output: str) -> list[Check]:
    """Return the check of a phrase that an output repeats more often than its source."""
    loop = repetition(output, source, times=LOOP)
    found = f"{loop.phrase!r} {loop.times:,} times in a row" if loop else ""
    return [Check("repetition", found)] if found else []


def changed_digits(source: str, output: str, languages: Languages = ("", "")) -> str:
    """Return how the numbers of an output differ from those of its source; "" if they do not.

    Separators do not count, nor the other way to count the hours of a day where a.m. or p.m. says
    which half is meant. A number that one side has in words is no difference; where its language
    is unknown, a lost number that may be in words, such as 30, 1,000 or 2:30, if no other came.
    """
    if source.isascii() and output.isascii() and not re.search(r"\d", source + output):
        return ""
    wanted, found = (Counter(digits_of(text.replace(":00", ""))) for text in (source, output))
    lost, new = wanted - found, found - wanted
    if not (lost or new):
        return ""
    joined = [THOUSANDS.sub("", text) for text in (source, output)]
    # "10 000" and 10,000 are one number, but "10 000" may be two, so both readings are tried
    if joined != [source, output] and not changed_digits(joined[0], joined[1], languages):
        return ""
    mornings = {hour for hour, _, half in HALF_DAYS.findall(f"{source} {output}") if half in "aA"}
    for number in [*lost] if HALF_DAYS.search(f"{source} {output}") else []:
        hour = int(number) if len(number) < 3 else -1
        for other in (str(hour + HALF_DAY), str(hour - HALF_DAY)):
            if new[other] and hour > 0 and not {number, other} & (mornings - {str(HALF_DAY)}):
                lost[number] -= 1
                new[other] -= 1
    new["0"] = 0  # 17:00 for 5 p.m.
    in_words = all(len(one.rstrip("0")) <= MOST_IN_WORDS for one in +lost) and not +new
    rests = (
        _not_in_words(+lost, source, output, languages[1]),
        _not_in_words(+new, output, source, languages[0]),
    )
    if rests[0] is not None or in_words:
        lost = rests[0] or Counter()
    if lost or rests[1]:
        return _told(+lost, +new if rests[1] is None else rests[1])
    return ""


def _not_in_words(
    numbers: Counter[str], text: str, other: str, language: str
) -> Counter[str] | None:
    """Return the numbers of a text that the other text has not in words, nor as a time of day.

    None: the words of its language are unknown.
    """
    # int() refuses more than 4,300 digits
    values = [int(one) for one in numbers if len(one) <= LONGEST_IN_WORDS]
    words = numbers_in_words(other, language, values) if values else set()
    if words is None:
        return None
    # German counts to the next hour: "halb drei" is 2:30
    hours = {number % HALF_DAY for word in words for number in (word, word - 1)}  # half past one
    clocks = (time for time in CLOCK.findall(text) if int(time[0]) % HALF_DAY in hours)
    times = {str(int(one)) for time in clocks for one in time}
    romans = (value for _, value in roman_numerals(other))
    known = times.union(map(str, words), map(str, romans))
    return Counter({one: count for one, count in numbers.items() if one not in known})


def changed_forms(source: str, output: str, languages: Languages) -> str:
    """Return how times with a.m. or p.m., Roman numerals and numbers in words differ; or ""."""
    own, to = languages
    lost = [*lost_half_days(source, output), *lost_numerals(source, output, to)]
    lost += new_words(output, source, (to, own))
    new = new_words(source, output, languages)
    return _told(Counter(lost), Counter(new)) if lost or new else ""


def lost_half_days(source: str, output: str) -> list[str]:
    """Return the times with a.m. or p.m. of which the output has neither that nor 24 hours.

    Of several times, a.m. or p.m. may stand behind the last alone, or behind each.
    """
    found = digits_of(re.sub(r"(?<=\d)(?:[:.]|\sh\s)00\b", "", output))  # 12:00 is no midnight
    times, told = ([one[0] for one in HALF_DAYS.finditer(text)] for text in (source, output))
    if told and len(told) != len(times):
        return []
    found += [on_24_hours(one).partition(":")[0] for one in told]
    return [one for one in times if on_24_hours(one).partition(":")[0] not in found]


def lost_numerals(source: str, output: str, language: str) -> list[str]:
    """Return the Roman numerals that an output has neither as such nor in digits or in words."""
    found = {*digits_of(output), *(str(value) for _, value in roman_numerals(output))}
    lost = [(one, value) for one, value in roman_numerals(source) if str(value) not in found]
    words = numbers_in_words(output, language, ()) if lost else None
    return [one for one, value in lost if words is not None and value not in words]


def new_words(source: str, output: str, languages: Languages) -> list[str]:
    """Return the numbers that an output clearly has in words, and its source in no form."""
    new = clear_numbers(output, languages[1])
    known = numbers_in_words(source, languages[0], ()) if new else None
    if known is None:
        return []
    forms = {*digits_of(source), *(str(value) for _, value in roman_numerals(source))}
    return [one for one in map(str, sorted(new - known)) if one not in forms]


def changed_signs(source: str, output: str) -> str:
    """Return which signs an output lacks, and which its source lacks; "" if none.

    A currency or a percent sign may come from a word, and an ampersand may become one. Parentheses
    count if they are in pairs in the source alone.
    """
    unpaired = [text.count("(") != text.count(")") for text in (source, output)]
    pairs = "()" if unpaired == [False, True] else ""
    wanted, found = (
        Counter(one for one in text if one in (*SOFT, *pairs) or (is_sign(one) and one != DAMAGED))
        for text in (source.replace(" & ", " "), output)
    )
    new = found - wanted
    new = Counter({one: count for one, count in new.items() if is_sign(one) or one in pairs})
    lost = wanted - found
    return _told(lost, new) if lost or new else ""


def _emptied(source: str, output: str, parts: Sequence[Part]) -> str:
    """Return the end of a link, or of other text in a pair of parts, that an output left empty."""
    for found in BETWEEN_MARKS.finditer(source):
        pair = found[0] + found[1]
        end = parts[ord(pair[-1]) - FIRST].raw if ord(pair[-1]) - FIRST < len(parts) else ""
        empty = re.search(rf"[{pair[0]}{pair[-1]}]\W*[{pair[0]}{pair[-1]}]", output)
        before = [one.raw for one in parts[: ord(pair[0]) - FIRST + 1]]  # a pair is of equal marks
        closes = end.startswith(CLOSERS) or (end in EQUAL and before.count(end) % 2)
        if closes and has_word(pair[1:-1]) and empty:
            return end
    return ""


def _in_order(marks: Sequence[str], parts: Sequence[Part]) -> list[str]:
    """Return the raw texts of the marks whose order is fixed."""
    found = [parts[ord(mark) - FIRST] for mark in marks if ord(mark) - FIRST < len(parts)]
    return [part.raw for part in found if part.in_order]


def _told(lost: Counter[str], new: Counter[str]) -> str:
    """Return the message about what an output lacks, and what its source lacks."""
    told = [f"{', '.join(lost)} is missing"] if lost else []
    return ", ".join([*told, f"{', '.join(new)} is new"] if new else told)


def _without(text: str, raws: Sequence[str]) -> str:
    for raw in raws:
        text = text.replace(raw, " ")
    return text
