"""Words of the demonstration grammar as records, read once from the tables of `vocabulary`.

Records compare by identity. Forms per person are in the order I, he, we, they.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from grammar import vocabulary

I, HE, WE, THEY = range(4)  # noqa: E741

Word = tuple[str, str]  # text, and names of the concepts that it expresses, between spaces


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective, and the classes of nouns that it can describe."""

    english: str
    german: str
    german_stem: str
    before: bool  # True if it precedes the others
    predicative: bool
    classes: frozenset[str]


@dataclass(frozen=True, eq=False)
class Noun:
    """A common noun: `english[plural]`, `german[plural][case]`."""

    english: tuple[str, str]
    german: tuple[tuple[str, str, str], tuple[str, str, str]]
    gender: int  # German: 0 masculine, 1 feminine, 2 neuter
    classes: frozenset[str]
    at: str  # the German preposition of "at", "" if the noun is not used with it
    before: tuple[Adjective, ...]
    after: tuple[Adjective, ...]


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb in both languages, and the classes of its subjects and objects."""

    base: str
    third: str
    past: str
    progressive: str
    particle: str
    prefix: str
    infinitive: str
    present: tuple[str, str, str, str]
    participle: str
    sein: bool
    dative: bool
    preposition: str
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    persons: bool  # a person can be its object
    simple: bool  # no progressive in English
    traits: frozenset[str]


@dataclass(frozen=True, eq=False)
class Person:
    """Forms of a name or a pronoun: English (subject, object), German by case."""

    english: tuple[str, ...]
    german: tuple[str, ...]
    person: int
    feminine: bool = False  # of a name

    @property
    def plural(self) -> bool:
        """Return True for a plural pronoun."""
        return self.person >= WE


class Name(Person):
    """A proper name, equal in every language."""


class Pronoun(Person):
    """A personal pronoun."""


class Preposition(NamedTuple):
    """A preposition; `german` is empty if the noun determines it ("at")."""

    english: tuple[str, ...]
    german: str
    case: int


class Time(NamedTuple):
    """A time adverbial: its words in each language, with their concepts."""

    english: tuple[Word, ...]
    german: tuple[Word, ...]
    tenses: frozenset[str]

    @property
    def habit(self) -> bool:
        """Return True if it requires the English present simple."""
        return "habit" in self.tenses


class Forms(NamedTuple):
    """Forms for I, he, we and they; those of a modal are named after its infinitive."""

    english: tuple[str, ...]
    german: tuple[str, ...]


def _rows(table: str) -> Iterator[list[str]]:
    for line in table.strip().splitlines():
        yield [cell.strip() for cell in line.split("|")]


def _adjective(english: str, german: str, traits: str) -> Adjective:
    predicative, _, stem = german.partition("/")
    classes = set(traits.split())
    return Adjective(
        english,
        predicative,
        stem or predicative,
        "before" in classes,
        "attributive" not in classes,
        frozenset(classes - {"before", "attributive"}),
    )


def _noun(english: str, german: str, traits: str) -> Noun:
    gender, word, plural = german.split()
    weak, word = word.endswith("*"), word.rstrip("*")
    oblique = plural if weak else word
    dative = plural if plural.endswith(("n", "s", "-")) else plural + "n"
    places = [trait[3:] for trait in traits.split() if trait.startswith("at:")]
    classes = frozenset(trait for trait in traits.split() if not trait.startswith("at:"))
    fitting = [
        adjective
        for adjective in ADJECTIVES
        if adjective.classes & classes and not word.lower().startswith(adjective.german_stem)
    ]  # not "der junge Junge"
    singular, several = english.split()
    return Noun(
        (singular, several),
        ((word, oblique, oblique), (plural, plural, dative)),
        "mfn".index(gender),
        classes,
        places[0] if places else "",
        tuple(adjective for adjective in fitting if adjective.before),
        tuple(adjective for adjective in fitting if not adjective.before),
    )


def _verb(english: str, german: str, traits: str) -> Verb:
    base, third, past, progressive, *particle = english.split()
    infinitive, he, participle, *marks = german.split()
    prefix, _, bare = infinitive.rpartition("-")
    style, _, roles = traits.partition(":")
    subjects, _, objects = roles.partition(">")
    return Verb(
        base,
        third,
        past,
        progressive,
        particle[0] if particle else "",
        prefix,
        bare,
        (bare[:-1], he, bare, bare),
        participle,
        "sein" in marks,
        "dative" in marks,
        "".join(mark[1:] for mark in marks if mark.startswith("+")),
        _nouns(subjects),
        _nouns(objects),
        "person" in objects.split(),
        "simple" in style or "state" in style,
        frozenset(style.split()),
    )


def _nouns(classes: str) -> tuple[Noun, ...]:
    wanted = set(classes.split())
    return tuple(noun for noun in NOUNS if noun.classes & wanted)


def _halves(cell: str) -> tuple[Word, ...]:
    parts = (word.partition(".") for word in cell.split())
    return tuple((word, f"time{half}" if half else "time1 time2") for word, _, half in parts)


def _forms(table: str) -> tuple[Forms, ...]:
    return tuple(Forms(*(tuple(cell.split()) for cell in row)) for row in _rows(table))


ADJECTIVES = tuple(_adjective(*row) for row in _rows(vocabulary.ADJECTIVES))
NOUNS = tuple(_noun(*row) for row in _rows(vocabulary.NOUNS))
VERBS = tuple(_verb(*row) for row in _rows(vocabulary.VERBS))
TIMES = tuple(
    Time(_halves(english), _halves(german), frozenset(tenses.split()))
    for english, german, tenses in _rows(vocabulary.TIMES)
)
FREQUENCIES = _forms(vocabulary.FREQUENCIES)
PREPOSITIONS = {
    english: Preposition(tuple(english.split()), word.strip("-"), int(case))
    for english, german in _rows(vocabulary.PREPOSITIONS)
    for word, case in [german.split()]
}
REPORTS = _forms(vocabulary.REPORTS)
MODALS = _forms(vocabulary.MODALS)
CAN, MUST, WANT = MODALS
NAMES = tuple(
    Name((text,) * 2, (text,) * 3, HE, gender == "f")
    for text, gender in map(str.split, vocabulary.NAMES.split(","))
)

ME = Pronoun(("I", "me"), ("ich", "mich", "mir"), I)
HIM = Pronoun(("he", "him"), ("er", "ihn", "ihm"), HE)
HER = Pronoun(("she", "her"), ("sie", "sie", "ihr"), HE)
US = Pronoun(("we", "us"), ("wir", "uns", "uns"), WE)
THEM = Pronoun(("they", "them"), ("sie", "sie", "ihnen"), THEY)
PRONOUNS = (ME, HIM, HER, US, THEM)
