"""Meaning of a sentence, independent of language: records that `draw` fills and languages read.

A language expresses a meaning in words with their concepts. Words of two languages that share a
concept are linked. The names of a phrase's concepts begin with its role: `object-noun`. Words
without a counterpart express these concepts:

- both halves of a negation: the negation;
- English "do" and "be", the "to" of an infinitive, and a German separated prefix: the verb;
- the auxiliary of a perfect, the English past form and "did": the past;
- an article that the other language leaves out: its noun;
- the "for" of "wait for", and the "auf" of "warten auf": the particle;
- commas: none.
"""

from __future__ import annotations

from typing import NamedTuple

from grammar.lexicon import (
    HE,
    HER,
    HIM,
    THEM,
    THEY,
    Adjective,
    Forms,
    Noun,
    Person,
    Preposition,
    Pronoun,
    Time,
    Verb,
    Word,
)


class Phrase(NamedTuple):
    """A noun with its determiner, plural or not, and at most two adjectives."""

    determiner: str  # the this my our a two three many bare
    noun: Noun
    plural: bool
    adjectives: tuple[Adjective, ...] = ()

    @property
    def person(self) -> int:
        """Return the grammatical person: I, HE, WE or THEY."""
        return THEY if self.plural else HE


Nominal = Phrase | Person


def reference(nominal: Nominal) -> Person:
    """Return the pronoun that refers to a nominal, by its German gender and its class."""
    if isinstance(nominal, Pronoun):
        return nominal
    if isinstance(nominal, Person):  # a name
        return HER if nominal.feminine else HIM
    noun = nominal.noun
    if nominal.plural:
        return THEM
    if "person" in noun.classes:
        return HER if noun.gender == 1 else HIM
    return Pronoun(("it",), (("er", "sie", "es")[noun.gender],), HE)


class Adjunct(NamedTuple):
    """A place, a goal, a companion or a beneficiary."""

    preposition: Preposition
    phrase: Phrase


class Clause(NamedTuple):
    """Subject, verb, objects and adjuncts; or, with `predicate`, a subject and its property."""

    subject: Nominal
    verb: Verb | None = None
    predicate: Adjective | None = None
    tense: str = "present"  # present past future modal
    modal: Forms | None = None
    polarity: str = ""  # "", not, never
    object: Nominal | None = None
    recipient: Nominal | None = None
    adjunct: Adjunct | None = None
    time: Time | None = None
    fronted: bool = False
    frequency: Forms | None = None

    @property
    def negated(self) -> bool:
        """Return True for a negated object: "no bread", German "kein Brot"."""
        held = self.object
        return bool(self.polarity and isinstance(held, Phrase) and held.determiner in ("a", "bare"))

    @property
    def habitual(self) -> bool:
        """Return True for a repeated action (English: present simple)."""
        habit = self.time is not None and self.time.habit
        return habit or self.frequency is not None or self.polarity == "never"


class ReportingClause(NamedTuple):
    """The "I think" of "I think that ..."."""

    subject: Person
    verb: Forms


class Sentence(NamedTuple):
    """A clause as a statement, a question, a report or with a reason."""

    clause: Clause
    question: bool = False
    report: ReportingClause | None = None
    reason: Clause | None = None


MARKS = ".,?"


def second_clause(words: list[Word]) -> list[Word]:
    """Return the words of a second clause, with concepts distinct from those of the first."""
    return [(text, " ".join(f"second-{name}" for name in names.split())) for text, names in words]


def written(words: list[Word]) -> tuple[list[str], list[str]]:
    """Return the words between spaces, which include punctuation marks, and their concepts."""
    texts: list[str] = []
    concepts: list[str] = []
    for text, concept in words:
        if text in MARKS:
            texts[-1] += text
        else:
            texts.append(text)
            concepts.append(concept)
    texts[0] = texts[0][0].upper() + texts[0][1:]
    return texts, concepts


def linked(source: list[str], target: list[str]) -> tuple[tuple[int, int], ...]:
    """Return the sorted pairs of words that share a concept."""
    targets = [set(names.split()) for names in target]
    return tuple(
        (i, j)
        for i, names in enumerate(source)
        for j, others in enumerate(targets)
        if not others.isdisjoint(names.split())
    )
