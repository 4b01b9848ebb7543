"""Meanings of the grammar from their English words."""

from __future__ import annotations

from attncli.embedded.grammar.lexicon import (
    ADJECTIVES,
    NAMES,
    NOUNS,
    PREPOSITIONS,
    TIMES,
    VERBS,
    Adjective,
    Name,
    Noun,
    Time,
    Verb,
)
from attncli.embedded.grammar.meaning import Adjunct, Phrase


def noun(english: str) -> Noun:
    return next(one for one in NOUNS if one.english[0] == english)


def adjective(english: str) -> Adjective:
    return next(one for one in ADJECTIVES if one.english == english)


def verb(base: str) -> Verb:
    return next(one for one in VERBS if one.base == base)


def time(english: str) -> Time:
    return next(one for one in TIMES if " ".join(word for word, _ in one.english) == english)


def name(text: str) -> Name:
    return next(one for one in NAMES if one.text == text)


def phrase(text: str, *, plural: bool = False) -> Phrase:
    """Return a phrase such as `the old man`, the noun in the singular."""
    determiner, *adjectives, last = text.split()
    return Phrase(determiner, noun(last), plural, tuple(adjective(one) for one in adjectives))


def adjunct(preposition: str, text: str) -> Adjunct:
    return Adjunct(PREPOSITIONS[preposition], phrase(text))
