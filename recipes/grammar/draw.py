"""Random meanings of sentences, sampled with a generator's `random()` alone.

Meanings that a language could not distinguish from others are excluded: "you",
English past and perfect, German "sie" for her and them as objects, "must not", "read" with "never".
So each language's sentence determines the other. A seed gives the sentences of earlier versions,
which had a third language; therefore some verbs take "him" and "her" in the past only.
Only `random()` is called, because its sequence is equal in every version of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from grammar import lexicon
from grammar.lexicon import HE, THEY, Name, Noun, Person, Pronoun, Time, Verb
from grammar.meaning import (
    Adjunct,
    Clause,
    Nominal,
    Phrase,
    ReportingClause,
    Sentence,
    reference,
)

Random = Callable[[], float]
Choice = TypeVar("Choice")


def draw(random: Random) -> Sentence:
    """Return a random sentence."""
    kind = random()
    question = 0.45 < kind < 0.66
    described = random() < 0.13
    clause = _description(random) if described else _event(random, question)
    if question:
        return Sentence(clause, question=True)
    if [clause.adjunct, clause.time, clause.recipient].count(None) < 2:  # long enough by itself
        return Sentence(clause)
    if 0.66 < kind < 0.84:
        told = clause._replace(fronted=False)
        return Sentence(told, report=_report(random, clause.subject))
    if kind > 0.84 and not described and not clause.polarity:
        return Sentence(clause, reason=_reason(random, clause))
    return Sentence(clause)


def _description(random: Random) -> Clause:
    """Return a description, such as: the house is not big."""
    polarity = "not" if random() < 0.25 else ""
    subject: Nominal
    if random() < 0.25:
        noun = lexicon.NOUNS[0]  # a person
        subject = _pick(random, lexicon.PRONOUNS if random() < 0.6 else lexicon.NAMES)
    else:
        noun = _pick(random, lexicon.NOUNS)
        determiners = _MASS[:3] if noun.english[1] == "-" else _DEFINITE
        subject = _phrase(random, noun, determiners, plain=True)
    tense = _pick(random, ("present", "present", "past", "future"))
    predicate = _pick(random, _PREDICATES[noun])
    return Clause(subject, predicate=predicate, tense=tense, polarity=polarity)


def _event(random: Random, question: bool) -> Clause:
    verb = _pick(random, lexicon.VERBS)
    state = "state" in verb.traits
    tense = "present" if state else _pick(random, _TENSES)
    modal = _pick(random, lexicon.MODALS) if tense == "modal" else None
    polarity = _polarity(random, verb, tense, question)
    if modal is lexicon.MUST:
        polarity = ""
    subject = _subject(random, verb, polarity)
    held = _object(random, verb, subject, tense, polarity)
    recipient = _recipient(random, subject) if "give" in verb.traits else None
    bare = not isinstance(subject, Phrase) and not isinstance(held, Phrase)
    taken = _nouns(subject, held, recipient)
    adjunct = None if state else _adjunct(random, verb, bare, taken)
    lone = adjunct is None and (not verb.objects or isinstance(held, Pronoun))
    timeless = state or polarity == "never"
    time = None if timeless else _time(random, tense, polarity, lone)
    frequency = None
    if not (state or polarity or time) and tense != "past" and random() < 0.2:
        frequency = _pick(random, lexicon.FREQUENCIES)
    fronted = time is not None and not question and random() < 0.4
    return Clause(
        subject,
        verb,
        None,
        tense,
        modal,
        polarity,
        held,
        recipient,
        adjunct,
        time,
        fronted,
        frequency,
    )


def _polarity(random: Random, verb: Verb, tense: str, question: bool) -> str:
    chance = random()
    if chance < 0.2:
        return "not"
    told_apart = tense != "past" or verb.past != verb.base
    if chance > 0.94 and told_apart and not question and "state" not in verb.traits:
        return "never"
    return ""


def _subject(random: Random, verb: Verb, polarity: str) -> Nominal:
    chance = random()
    if chance < 0.24:
        return _pick(random, lexicon.PRONOUNS)
    if chance < 0.38:
        return _pick(random, lexicon.NAMES)
    return _phrase(random, _pick(random, verb.subjects), _DEFINITE if polarity else _ANY)


def _object(
    random: Random, verb: Verb, subject: Nominal, tense: str, polarity: str
) -> Nominal | None:
    if not verb.objects:
        return None
    chance = random()
    if verb.persons and chance < 0.3 and "state" not in verb.traits:
        allowed = _pronouns(verb, subject, tense) if chance < 0.2 else ()
        named = _pick(random, allowed or lexicon.NAMES)
        if named is not subject:
            return named
    noun = _noun(random, verb.objects, _nouns(subject))
    if noun.english[1] == "-":
        return _phrase(random, noun, _MASS)
    if not polarity:
        return _phrase(random, noun, _ANY)
    deniable = "person" not in noun.classes and not verb.preposition
    return _phrase(random, noun, _DENIED if deniable else _DEFINITE)


def _pronouns(verb: Verb, subject: Nominal, tense: str) -> tuple[Person, ...]:
    """Return the pronoun objects that both languages distinguish."""
    is_distinct = tense == "past" or "past-only" not in verb.traits
    others = (lexicon.HIM, lexicon.HER) if is_distinct else ()
    return _speakers(subject) + others + ((lexicon.THEM,) if verb.dative else ())


def _recipient(random: Random, subject: Nominal) -> Nominal:
    chance = random()
    if chance < 0.3:
        return _pick(random, (*_speakers(subject), lexicon.THEM))
    if chance < 0.45:
        name = _pick(random, lexicon.NAMES)
        if name is not subject:
            return name
    return _person(random, _nouns(subject))


def _speakers(subject: Nominal) -> tuple[Person, ...]:
    """Return "me" and "us", which are no objects of "I" and "we"."""
    return (lexicon.ME, lexicon.US) if subject.person in (HE, THEY) else ()


def _nouns(*nominals: Nominal | None) -> list[Noun]:
    return [one.noun for one in nominals if isinstance(one, Phrase)]


def _noun(random: Random, options: Sequence[Noun], taken: list[Noun]) -> Noun:
    """Return a random noun that is not taken."""
    noun = _pick(random, options)
    while noun in taken:
        noun = _pick(random, options)
    return noun


def _person(random: Random, taken: list[Noun]) -> Phrase:
    return _phrase(random, _noun(random, _PERSONS, taken), _DEFINITE)


def _adjunct(random: Random, verb: Verb, bare: bool, taken: list[Noun]) -> Adjunct | None:
    if "goal" in verb.traits:
        preposition, noun = _pick(random, _GOALS)
        return Adjunct(preposition, _phrase(random, noun, _SINGULAR))
    needed = bare or "stay" in verb.traits
    if taken and "vehicle" in taken[0].classes and not verb.objects:
        return None
    if not needed and random() > (0.25 if verb.objects else 0.55):
        return None
    placeable = "still" not in verb.traits
    if "for" in verb.traits and random() < 0.3:
        return Adjunct(lexicon.PREPOSITIONS["for"], _person(random, taken))
    if verb.traits.isdisjoint(_ALONE) and (not placeable or random() < 0.2):
        return Adjunct(lexicon.PREPOSITIONS["with"], _person(random, taken))
    preposition, noun = _pick(random, _PLACES)
    while noun in taken:
        preposition, noun = _pick(random, _PLACES)
    several = preposition.german and random() < 0.12
    return Adjunct(preposition, _phrase(random, noun, _PLURAL if several else _SINGULAR))


def _time(random: Random, tense: str, polarity: str, needed: bool) -> Time | None:
    if not needed and random() > 0.3:
        return None
    times = [time for time in lexicon.TIMES if tense in time.tenses]
    return _pick(random, [time for time in times if not (polarity and time.habit)])


def _report(random: Random, told: Nominal) -> ReportingClause:
    subject = _pick(random, lexicon.NAMES if random() < 0.4 else lexicon.PRONOUNS)
    if subject is told and isinstance(subject, Name):
        subject = lexicon.ME
    return ReportingClause(subject, _pick(random, lexicon.REPORTS))


def _reason(random: Random, clause: Clause) -> Clause | None:
    """Return a reason ("because it is new") about the object (thing) or the subject (person)."""
    subject, held = clause.subject, clause.object
    tense = "past" if clause.tense == "past" else "present"
    if isinstance(held, Phrase) and not subject.plural and not held.noun.classes & _LIVING:
        qualities = [one for one in _PREDICATES[held.noun] if not one.classes & _NO_REASON]
        if qualities and held.determiner != "bare":
            quality = _pick(random, qualities)
            return Clause(reference(held), predicate=quality, tense=tense)
    if isinstance(subject, Phrase):
        noun = subject.noun
        if noun.gender == 2 or "person" not in noun.classes:
            return None
    return Clause(reference(subject), predicate=_pick(random, _MOODS), tense=tense)


def _phrase(
    random: Random, noun: Noun, determiners: Sequence[tuple[str, bool]], plain: bool = False
) -> Phrase:
    determiner, plural = _pick(random, determiners)
    if determiner in _OWNED and "unowned" in noun.classes:
        determiner = "the"
    chance = random()
    if plain or chance > 0.34:
        return Phrase(determiner, noun, plural)
    before, after = noun.before, noun.after
    if chance < 0.04 and before and after:
        return Phrase(determiner, noun, plural, (_pick(random, before), _pick(random, after)))
    return Phrase(determiner, noun, plural, (_pick(random, before + after),))


def _pick(random: Random, options: Sequence[Choice]) -> Choice:
    return options[int(random() * len(options))]


_SINGULAR = [("the", False)] * 6 + [("a", False), ("my", False), ("our", False), ("this", False)]
_PLURAL = [("the", True), ("the", True), ("our", True), ("these", True)]
_DEFINITE = [one for one in _SINGULAR if one[0] != "a"] * 2 + _PLURAL
_OWNED = frozenset(("my", "our"))
_INDEFINITE = [("two", True), ("three", True), ("many", True), ("bare", True)]
_ANY = _DEFINITE + [("a", False)] * 7 + _INDEFINITE
_DENIED = _DEFINITE + [("a", False)] * 6 + [("bare", True)] * 3
_MASS = [("the", False), ("the", False), ("my", False), ("bare", False), ("bare", False)]
_TENSES = ("present",) * 7 + ("past",) * 5 + ("future",) * 4 + ("modal",) * 4
_ALONE = frozenset(("stay", "give", "alone"))
_LIVING = frozenset(("person", "animal"))
_NO_REASON = _LIVING | {"coloured"}
_PERSONS = tuple(noun for noun in lexicon.NOUNS if "person" in noun.classes)
_GOALS = [(lexicon.PREPOSITIONS["to"], one) for one in lexicon.NOUNS if "goal" in one.classes]
_PREPOSITIONS_OF = {
    "in": ("in", "in"),
    "at": ("at", "at"),
    "near": ("behind", "in front of", "next to"),
}
_PLACES = tuple(
    (lexicon.PREPOSITIONS[preposition], noun)
    for noun in lexicon.NOUNS
    for name, prepositions in _PREPOSITIONS_OF.items()
    if (noun.at if name == "at" else name in noun.classes)
    for preposition in prepositions
)
_PREDICATES = {
    noun: tuple(one for one in noun.before + noun.after if one.predicative)
    for noun in lexicon.NOUNS
}
_MOODS = tuple(
    one for one in lexicon.ADJECTIVES if one.classes <= _LIVING and "person" in one.classes
)
