"""Set phrases of letters, shops and forms, which a small model translates word by word.

phrases.tsv has a kind and the phrase in English, German, French and Spanish. A phrase is the whole
of a line, its beginning or its end; never a part of a sentence:

    w  whole lines alone                              "Add to cart"
    l  also before a colon or a number                "Order no.: 12", "Order no. 12"
    n  before a colon or a number alone               "Page 3"
    e  also before a comma and a name                 "Kind regards, Anna Berg"
    b  before a name, which is copied                 "Dear Mr Berg, ..."
    s  after a number alone                           "12.00 EUR incl. VAT"
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from models.text.normalise import normalise

LANGUAGES = ("en", "de", "fr", "es")  # of tables of phrases, numbers and quantities, in this order
NAME = r"[^\W\d_][\w'’.-]*"
NAMES = rf"{NAME}(?: {NAME}){{0,2}}"
WHOLE = re.compile(r"[¡¿]?(.*?)(\s*[.:!?…,;]*)", re.S)
LABEL = re.compile(  # not `Page :page`
    r"(.+?)\s*(:(?![a-z_])\s*|\s(?=[#\d])|(?i:(?<= no\.)|(?<= number))\s+(?=[A-Z]+[ -]?\d))(.+)",
    re.S,
)
# as in "Size: M", "Flight no. LH 454"
CODE = re.compile(r"[A-Z]{1,3}|[A-Z]{2} \d+|(?=\S*\d)(?=\S*[A-Z-])[A-Z\d]+(?:[-/][A-Z\d]+)*")
# "Widget no." and "Widget number"; but not "Of course no."
NUMBERED = re.compile(r"(.+) (?:no\.?|number)", re.IGNORECASE)
NO_NOUN = re.compile(
    r"\b(?:oh|say|says|said|is|was|are|were|be|i|he|she|it|they|we|you|to|of|at|in|on|for|a|an|the|and|or|but"
    r"|absolutely|definitely|certainly|probably|simply|still|just|hard|well|hell|there|has|have|had|with|if|yes|no"
    r"|then|maybe|my|your|his|her|our|their|answer|answered|means?|mean|so|sorry|again|not|please)\b",
    re.IGNORECASE,
)
FULL = {"nr.": "nummer", "-Nr.": "-Nummer", "N°": "Numéro", "N.º": "Número"}
CLOSING = re.compile(rf"(.+?)(,\s+)({NAMES}\.?)")
NAMED = re.compile(rf" ({NAMES})(?:(,\s*)(.*))?", re.S)
SUFFIX = re.compile(r"([\d.,\s]*\d\s*[€$£%]?)(?:\s+)(\D+?)([.!]?)")


class Fixed(NamedTuple):
    """A line whose beginning is known: it is translated as `before` and the translation of rest."""

    before: str
    rest: str = ""


class Phrase(NamedTuple):
    """A phrase of the target language."""

    kind: str
    text: str


def fixed_part(text: str, source: str, target: str) -> Fixed | None:
    """Return the part of a line that is a set phrase, translated; None if it has none.

    source: language of the line; "": any.
    """
    if target not in LANGUAGES:
        return None
    sources = [one for one in LANGUAGES if one != target and source in ("", one)]
    found = (_fixed(normalise(text), _table(one, target), target) for one in sources)
    return next(filter(None, found), None)


def phrase_languages(text: str) -> frozenset[str]:
    """Return the languages in which a text is a whole set phrase."""
    return _languages().get(normalise(text).strip().casefold(), frozenset())


@cache
def _languages() -> dict[str, frozenset[str]]:
    """Return the languages of each set phrase, by its text in small letters."""
    found: dict[str, frozenset[str]] = {}
    for row in _rows():
        for language, text in zip(LANGUAGES, row[1:], strict=False):
            phrase = text.casefold()
            found[phrase] = found.get(phrase, frozenset()) | {language}
    return found


def _fixed(text: str, table: dict[str, Phrase], target: str) -> Fixed | None:
    def find(phrase: str, kinds: str) -> str:
        known = table.get(phrase.casefold())
        if not known and (label := NUMBERED.fullmatch(phrase)):
            known = table.get(f"{label[1]} no.".casefold())
            if known and phrase[-1] in "rR":
                known = known._replace(
                    text=re.sub("|".join(FULL), lambda sign: FULL[sign[0]], known.text)
                )
        return _in_case(known.text, phrase, target) if known and known.kind in kinds else ""

    whole = WHOLE.fullmatch(text)
    if found := find(text, "wle"):
        return Fixed(found)
    if whole and (found := find(whole[1], "wle")):
        return Fixed(_ended(found, whole[2].strip(), target))
    if (match := LABEL.fullmatch(text)) and (found := find(match[1], "ln")):
        colon = " :" if target == "fr" and ":" in match[2] else match[2].strip()
        is_code = CODE.fullmatch(match[3])  # "Size: M"
        return (
            Fixed(f"{found}{colon} {match[3]}") if is_code else Fixed(f"{found}{colon} ", match[3])
        )
    if (match := CLOSING.fullmatch(text)) and (found := find(match[1], "e")):
        return Fixed(f"{found}{match[2]}{match[3]}")
    if (match := SUFFIX.fullmatch(text)) and (found := find(match[2], "s")):
        return Fixed(f"{match[1].rstrip()} {found}{match[3]}")
    if opening := _opening(text, table):
        return opening
    # the label "Widget no." is read as "Widget number", which a model knows better
    label = re.fullmatch(r"(\w[\w' -]{0,40}) no\.(\s*:?|\s*:\s.+)", text, re.IGNORECASE)
    is_noun = label and "order no." in table and not NO_NOUN.search(label[1])
    return Fixed("", f"{label[1]} number{label[2]}") if label and is_noun else None


def _opening(text: str, table: dict[str, Phrase]) -> Fixed | None:
    """Return a form of address with its name; what follows the comma is the rest."""
    for phrase, known in table.items():
        if known.kind != "b" or not text.casefold().startswith(f"{phrase} "):
            continue
        if match := NAMED.fullmatch(text[len(phrase) :]):
            return Fixed(f"{known.text} {match[1]}{match[2] or ''}", match[3] or "")
    return None


def _ended(text: str, end: str, target: str) -> str:
    """Return a phrase with the final punctuation of its source, as the target language has it."""
    if end and text.endswith(".") and end.startswith("."):
        end = end[1:]
    if target == "es" and end in ("!", "?"):
        return f"{'¡' if end == '!' else '¿'}{text.lstrip('¿¡')}{end}"
    space = " " if target == "fr" and end[:1] in (":", "!", "?", ";") and end else ""
    return f"{text}{space}{end}"


def _in_case(text: str, source: str, target: str) -> str:
    """Return a phrase in capitals, or with a small first letter, if the source is written so."""
    if source.isupper() and len(source) > 3:
        return text.upper()
    if source[:1].islower() and target != "de" and not text[:2].isupper():
        return text[:1].lower() + text[1:]
    return text


@cache
def _table(source: str, target: str) -> dict[str, Phrase]:
    """Return the phrases of a language with those of another, by their text in small letters."""
    columns = [1 + LANGUAGES.index(language) for language in (source, target)]
    found: dict[str, Phrase] = {}
    for row in _rows():
        phrase, translation = (row[column] for column in columns)
        found.setdefault(phrase.casefold(), Phrase(row[0], translation))
    return found


@cache
def _rows() -> list[list[str]]:
    """Return the kind and the phrases of each row of the table."""
    lines = Path(__file__).with_name("phrases.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines]
