"""The last check of a translation: what must be in it, and what must not.

    check("12 euros", "21 Euro") == (Check("digits", "12 is missing, 21 is new"),)

The texts may be anybody's: `attn evaluate --checks` reports the same for a given translation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from attncli.tags.number_words import lost_words, may_have_amount, source_language
from attncli.tags.numbers import digits_of
from attncli.tags.parse import branches, count, scan
from attncli.tags.protect import FIRST, MARK, UNKNOWN, Languages, Part, protect, restore
from attncli.tags.quantities import lost_quantity
from attncli.tags.spans import UNSPACED, has_word
from models.inference.search.repeats import repetition

LOOP = 3  # times that a phrase occurs in a row, at least
LONGEST, SHORTEST = 3.0, 0.25  # times as many characters as the source,
LEEWAY = 60  # more or less
HALVES = re.compile(r"\d\s?[ap]\.?\s?m\b|\d\s?(?:Uhr|h\b)|\b[ap]\.\s?m\.", re.IGNORECASE)
CURRENCIES = {  # words of them
    "$": "dollar|dólar|USD|peso",
    "€": "euro|EUR",
    "£": "pound|pfund|livre|libra|GBP",
    "¥": "yen|yuan|JPY|CNY",
    "₹": "rup|INR",
}
TOUCHING = re.compile(r"[^\W\d_]{3}[.,;:!?][\d\ue000-\uf8ff]")  # "ist.0007"
PRICE = re.compile(r"([$€£¥₹])\s?\d|\d\s?([$€£¥₹])")
# clear negations; not "isn't it?", "can't wait", "not only", "n'est-ce pas ?", "nicht wahr?"
NEGATIONS = {
    "en": r"\b(?:not(?! only)|never|cannot|neither|no longer)\b"
    r"|n['’]t\b(?! (?:I|you|he|she|it|we|they|wait|help)\b)",
    "de": r"\b(?:nicht(?! (?:nur|wahr)\b)|nie|niemals|weder|kein(?:e[mnrs]?)?)\b",
    "fr": r"\b(?:ne |n['’](?!est-ce))(?:\S+ ){1,4}?"
    r"(?:pas(?! (?:que|seulement))|jamais|plus|aucune?)\b",
    "es": r"\b(?:no(?!\?| s[oó]lo)|(?<!como )nunca|jamás|ningun[oa]s?|ningún)\b",
}
NEGATIVES = {  # words that may translate a negation, many because right outputs must pass
    "en": r"\b(?:no\w*|cannot|never|neither|without|un\w+|in\w+|im\w+|dis\w+|refus\w+|fail\w*"
    r"|forb\w+|only|hardly|barely|rarely|few|little|stop\w*|avoid\w*|prevent\w*|den\w+|lack\w*"
    r"|instead|than|wrong|absent|out)\b|n['’]t\b|less\b",
    "de": r"\b(?:nicht\w*|nie\w*|kein\w*|weder|ohne|un(?!d\b|s\b|ser|ter)\w+|verb[io]\w+"
    r"|untersag\w*|nur|kaum|nein|erst|statt|au(?:ß|ss)er|selten|wenig\w*|nirgend\w*|\w*lehn\w*"
    r"|ver(?:weiger|hinder|meid|miss|pass|gess)\w*|fehl\w*|aufh\w+|als)\b|los(?:e[mnrs]?)?\b",
    "fr": r"\bn['’]|\b(?:ne|non|pas|jamais|plus|aucune?|rien|personne|sans|ni|in\w+|im\w+|ir\w+"
    r"|dé\w+|mé\w+|seul\w*|peu|guère|évit\w*|refus\w*|manqu\w*|cess\w*|arrêt\w*|empêch\w*|que"
    r"|sauf|hâte|absente?s?)\b",
    "es": r"\b(?:no|nunca|jamás|ning\w+|nada|nadie|sin|ni|tampoco|in\w+|im\w+|des\w+|apenas"
    r"|s[oó]l[oa]\w*|poc\w+|prohib\w+|evit\w*|n[ei]\w*g\w+|falt\w*|dej\w+|impid\w*|hasta|sino"
    r"|que)\b",
}
SAMPLE, UNFAITHFUL = 2000, 0.1  # pairs of a training that are checked; share that may fail
NAMES = {
    "digits": "other numbers",
    "negation": "no negation where the source has one",
    "parts": "a part that must not change",
    "tags": "other tags",
    "empty": "nothing where the source has words",
    "repetition": "a repetition loop",
    "length": "an unusual length",
    "characters": "a damaged character",
}


class Check(NamedTuple):
    """A check that a translation failed."""

    name: str  # of NAMES
    found: str  # what is wrong, for messages


def check(source: str, output: str) -> tuple[Check, ...]:
    """Return the checks that a translation of a text fails; both texts may have tags."""
    wanted, found = count(source), count(output)
    source, output = ("".join(one.text or " " for one in scan(text)) for text in (source, output))
    difference = _told(wanted - found, found - wanted)
    checks = [Check("tags", difference)] if difference else []
    parts = protect(source).parts
    raws = [part.raw for part in parts if not part.is_number and not branches(part.raw)]
    shown = [raw.strip("\\\"'") or raw for raw in raws]  # quotes may be those of the language
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
    parts: tuple[Part, ...],
    languages: Languages = UNKNOWN,
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
        raws = dict.fromkeys(restore(one, parts, source=True) for one in lost or new)
        told = f"{', '.join(raws)} is {'missing' if lost else 'repeated'}"
        checks.append(Check("parts", told))
    elif _in_order(wanted, parts) != _in_order(found, parts):
        checks.append(Check("parts", "another order of placeholders without numbers"))
    return (*checks, *check_plain(source, output, languages, cut=cut))


def check_plain(
    source: str, output: str, languages: Languages = UNKNOWN, *, cut: bool = False
) -> tuple[Check, ...]:
    """Return the checks on numbers, length, loops and characters; cut: see `check_marked`."""
    checks = []
    difference = changed_numbers(source, output, languages) or lost_currency(source, output)
    difference = difference or lost_quantity(source, output)
    if not difference and TOUCHING.search(output) and not TOUCHING.search(source):
        difference = "a number without the space before it"
    if difference:
        checks.append(Check("digits", difference))
    if negation := lost_negation(source, output, languages):
        checks.append(Check("negation", f"{negation} is missing"))
    if not has_word(output) and has_word(MARK.sub("", source)):
        checks.append(Check("empty", "the output has no words"))
    if loop := repetition(output, source, times=LOOP):
        checks.append(Check("repetition", f"{loop.phrase!r} {loop.times:,} times in a row"))
    if cut or not UNSPACED.search(source + output):
        ratio = f"{len(output):,} characters for {len(source):,}"
        least = len(source) * SHORTEST - LEEWAY / 4
        if cut:
            checks.append(Check("length", "the output was cut at its length limit"))
        elif not least <= len(output) <= len(source) * LONGEST + LEEWAY:
            checks.append(Check("length", ratio))
    if output.count("\ufffd") > source.count("\ufffd"):
        checks.append(Check("characters", "U+FFFD in the output"))
    return tuple(checks)


def changed_numbers(source: str, output: str, languages: Languages = UNKNOWN) -> str:
    """Return how the numbers of an output differ, in digits or words; "" if they do not."""
    difference = changed_digits(source, output)
    if not difference and not may_have_amount(source):
        return ""
    lost, *rest = lost_words(source, output, languages[:2])
    if lost:
        return _told(Counter(lost), Counter())
    return difference and changed_digits(*rest)


def changed_digits(source: str, output: str) -> str:
    """Return how the numbers of an output differ from those of its source; "" if they do not.

    Separators do not count, nor does the 24-hour form of a time with a.m. or p.m.
    """
    if source.isascii() and output.isascii() and not re.search(r"\d", source + output):
        return ""
    wanted, found = Counter(digits_of(source)), Counter(digits_of(output))
    lost, new = wanted - found, found - wanted
    if not lost and not new:
        return ""
    joined = re.sub(r"(?<=\d) (?=\d{3}\b)", "", output)  # thousands, divided by a space
    if joined != output and not changed_digits(source, joined):
        return ""
    if HALVES.search(source):
        new["00"] -= output.count(":00")  # of 17:00
        for number in [*lost]:
            other = str((int(number) + 12) % 24)
            if len(number) < 3 and new[other]:
                lost[number] -= 1
                new[other] -= 1
    return _told(+lost, +new)


def lost_currency(source: str, output: str) -> str:
    """Return which currency sign beside a number an output lacks, also as a word; "" if none."""
    for found in PRICE.finditer(source) if "$" in source or not source.isascii() else ():
        sign = found[1] or found[2]
        if not re.search(f"\\{sign}|{CURRENCIES[sign]}", output, re.IGNORECASE):
            return f"{sign} is missing"
    return ""


def lost_negation(source: str, output: str, languages: Languages) -> str:
    """Return a negation of a source whose output has none in any form; "" for other languages."""
    if languages.target not in NEGATIVES:
        return ""
    known = source_language(languages[:2])
    for language in [known] if known else [one for one in NEGATIONS if one != languages.target]:
        found = re.search(NEGATIONS.get(language, "(?!)"), source, re.IGNORECASE)
        if found and not re.search(NEGATIVES[languages.target], output, re.IGNORECASE):
            return found[0]
    return ""


def _in_order(marks: list[str], parts: tuple[Part, ...]) -> list[str]:
    """Return the raw texts of the marks whose order is fixed."""
    found = [parts[ord(mark) - FIRST] for mark in marks]
    return [part.raw for part in found if part.in_order]


def _told(lost: Counter[str], new: Counter[str]) -> str:
    """Return the message about what an output lacks, and what its source lacks."""
    told = [f"{', '.join(lost)} is missing"] if lost else []
    return ", ".join([*told, f"{', '.join(new)} is new"] if new else told)


def _without(text: str, raws: list[str]) -> str:
    for raw in raws:
        text = text.replace(raw, " ")
    return text
