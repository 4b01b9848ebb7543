"""Random meanings of sentences, sampled with a generator's `random()` alone.

Meanings that a language could not distinguish from others are excluded: "you",
English past and perfect, French "lui", "l'" before a vowel, German "sie" for her and them as
objects, "must not", "read" with "never". So each language's sentence determines the others.
Only `random()` is called, because its sequence is equal in every version of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from attncli.embedded.grammar.lexicon import (
    ADJECTIVES,
    FREQUENCIES,
    HE,
    HER,
    HIM,
    ME,
    MODALS,
    MUST,
    NAMES,
    NOUNS,
    PREPOSITIONS,
    PRONOUNS,
    REPORTS,
    THEM,
    THEY,
    TIMES,
    US,
    VERBS,
    Name,
    Noun,
    Preposition,
    Pronoun,
    Time,
    Verb,
)
from attncli.embedded.grammar.meaning import (
    Adjunct,
    Clause,
    Nominal,
    Phrase,
    ReportingClause,
    Sentence,
)
from attncli.embedded.grammar.reference import reference

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
    if _long(clause):
        return Sentence(clause)
    if 0.66 < kind < 0.84:
        told = clause._replace(fronted=False) if clause.fronted else clause
        return Sentence(told, report=_report(random, clause.subject))
    if kind > 0.84 and not described and not clause.polarity:
        return Sentence(clause, reason=_reason(random, clause))
    return Sentence(clause)


def _long(clause: Clause) -> bool:
    """Return True if the clause is long enough for a sentence of its own."""
    said = (clause.adjunct, clause.time, clause.recipient)
    return sum(part is not None for part in said) > 1


def _description(random: Random) -> Clause:
    """Return a description, such as: the house is not big."""
    polarity = "not" if random() < 0.25 else ""
    subject: Nominal
    if random() < 0.25:
        subject = _pick(random, PRONOUNS) if random() < 0.6 else _pick(random, NAMES)
        qualities = _QUALITIES["person"]
    else:
        noun = _pick(random, NOUNS)
        subject = _phrase(
            random, noun, _MASS[:3] if noun.english[1] == "-" else _DEFINITE, plain=True
        )
        qualities = _PREDICATES[noun]
    tense = _pick(random, ("present", "present", "past", "future"))
    predicate = _pick(random, qualities)
    return Clause(subject, predicate=predicate, tense=tense, polarity=polarity)


def _event(random: Random, question: bool) -> Clause:
    verb = _pick(random, VERBS)
    state = "state" in verb.traits
    tense = "present" if state else _pick(random, _TENSES)
    modal = _pick(random, MODALS) if tense == "modal" else None
    polarity = _polarity(random, verb, tense, question)
    if modal is MUST:
        polarity = ""
    subject = _subject(random, verb, polarity)
    held = _object(random, verb, subject, tense, polarity)
    recipient = _recipient(random, subject) if "give" in verb.traits else None
    bare = not isinstance(subject, Phrase) and not isinstance(held, Phrase)
    adjunct = None if state else _adjunct(random, verb, bare, (subject, held, recipient))
    lone = adjunct is None and (not verb.objects or isinstance(held, Pronoun))
    timeless = state or polarity == "never"
    time = None if timeless else _time(random, tense, polarity, lone)
    frequency = None
    if not (state or polarity or time) and tense != "past" and random() < 0.2:
        frequency = _pick(random, FREQUENCIES)
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
        return _pick(random, PRONOUNS)
    if chance < 0.38:
        return _pick(random, NAMES)
    return _phrase(random, _pick(random, verb.subjects), _DEFINITE if polarity else _ANY)


def _object(
    random: Random, verb: Verb, subject: Nominal, tense: str, polarity: str
) -> Nominal | None:
    if not verb.objects:
        return None
    chance = random()
    if verb.persons and chance < 0.3 and "state" not in verb.traits:
        allowed = _pronouns(verb, subject, tense) if chance < 0.2 else ()
        named: Nominal = _pick(random, allowed) if allowed else _pick(random, NAMES)
        if named is not subject:
            return named
    noun = _pick(random, verb.objects)
    while isinstance(subject, Phrase) and noun is subject.noun:
        noun = _pick(random, verb.objects)
    if noun.english[1] == "-":
        return _phrase(random, noun, _MASS)
    if not polarity:
        return _phrase(random, noun, _ANY)
    deniable = "person" not in noun.classes and not verb.preposition
    return _phrase(random, noun, _DENIED if deniable else _DEFINITE)


def _pronouns(verb: Verb, subject: Nominal, tense: str) -> tuple[Pronoun, ...]:
    """Return the pronoun objects that every language distinguishes."""
    french_differs = tense == "past" or verb.french.infinitive[0] not in "aeioué"
    speakers = _SPEAKERS if subject.person in (HE, THEY) else ()
    others = (HIM, HER) if french_differs else ()
    return speakers + others + ((THEM,) if verb.dative else ())


def _recipient(random: Random, subject: Nominal) -> Nominal:
    chance = random()
    if chance < 0.3:
        return _pick(random, (*_SPEAKERS, THEM) if subject.person in (HE, THEY) else (THEM,))
    if chance < 0.45:
        name = _pick(random, NAMES)
        if name is not subject:
            return name
    noun = _pick(random, _PERSONS)
    while isinstance(subject, Phrase) and noun is subject.noun:
        noun = _pick(random, _PERSONS)
    return _phrase(random, noun, _DEFINITE)


def _adjunct(
    random: Random, verb: Verb, bare: bool, others: tuple[Nominal | None, ...]
) -> Adjunct | None:
    if "goal" in verb.traits:
        preposition, noun = _pick(random, _GOALS)
        return Adjunct(preposition, _phrase(random, noun, _SINGULAR))
    needed = bare or "stay" in verb.traits
    nouns = [other.noun for other in others if isinstance(other, Phrase)]
    if nouns and "vehicle" in nouns[0].classes and not verb.objects:
        return None
    if not needed and random() > (0.25 if verb.objects else 0.55):
        return None
    placeable = "still" not in verb.traits
    if "for" in verb.traits and random() < 0.3:
        return _company(random, PREPOSITIONS["for"], nouns)
    if verb.traits.isdisjoint(_ALONE) and (not placeable or random() < 0.2):
        return _company(random, PREPOSITIONS["with"], nouns)
    preposition, noun = _pick(random, _PLACES)
    while noun in nouns:
        preposition, noun = _pick(random, _PLACES)
    several = preposition.german and random() < 0.12
    phrase = _phrase(random, noun, _PLURAL if several else _SINGULAR)
    return Adjunct(preposition, phrase)


def _company(random: Random, preposition: Preposition, taken: list[Noun]) -> Adjunct:
    noun = _pick(random, _PERSONS)
    while noun in taken:
        noun = _pick(random, _PERSONS)
    return Adjunct(preposition, _phrase(random, noun, _DEFINITE))


def _time(random: Random, tense: str, polarity: str, needed: bool) -> Time | None:
    if not needed and random() > 0.3:
        return None
    return _pick(random, _TIMES_OF[tense, bool(polarity)])


def _report(random: Random, told: Nominal) -> ReportingClause:
    subject: Nominal = _pick(random, NAMES) if random() < 0.4 else _pick(random, PRONOUNS)
    if subject is told and isinstance(subject, Name):
        subject = ME
    return ReportingClause(subject, _pick(random, REPORTS))


def _reason(random: Random, clause: Clause) -> Clause | None:
    """Return a reason ("because it is new") about the object (thing) or the subject (person)."""
    subject, held = clause.subject, clause.object
    tense = "past" if clause.tense == "past" else "present"
    if isinstance(held, Phrase) and not subject.plural and not held.noun.classes & _LIVING:
        qualities = [one for one in _PREDICATES[held.noun] if not one.classes & _NO_REASON]
        if qualities and held.determiner != "bare":
            quality = _pick(random, qualities)
            return Clause(reference(held), predicate=quality, tense=tense)
    neuter = isinstance(subject, Phrase) and (
        subject.noun.gender == 2 or "person" not in subject.noun.classes
    )
    if neuter:
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
_SPEAKERS = (ME, US)
_PERSONS = tuple(noun for noun in NOUNS if "person" in noun.classes)
_GOALS = tuple((PREPOSITIONS["to"], noun) for noun in NOUNS if "goal" in noun.classes)
_PLACES = tuple(
    (PREPOSITIONS[preposition], noun)
    for noun in NOUNS
    for preposition, fits in (
        ("in", "in" in noun.classes),
        ("in", "in" in noun.classes),
        ("at", bool(noun.at)),
        ("at", bool(noun.at)),
        ("behind", "near" in noun.classes),
        ("in front of", "near" in noun.classes),
        ("next to", "near" in noun.classes),
    )
    if fits
)
_TIMES_OF = {
    (tense, negated): tuple(
        time for time in TIMES if tense in time.tenses and not (negated and time.habit)
    )
    for tense in ("present", "past", "future", "modal")
    for negated in (False, True)
}
_PREDICATES = {
    noun: tuple(one for one in noun.before + noun.after if one.predicative) for noun in NOUNS
}
_QUALITIES = {"person": _PREDICATES[NOUNS[0]]}
_MOODS = tuple(one for one in ADJECTIVES if one.classes <= _LIVING and "person" in one.classes)
