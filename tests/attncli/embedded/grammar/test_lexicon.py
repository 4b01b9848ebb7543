"""The lexicon has one word for each concept."""

from __future__ import annotations

import random

from attncli.embedded.grammar import english, german
from attncli.embedded.grammar.draw import draw
from attncli.embedded.grammar.lexicon import (
    ADJECTIVES,
    NOUNS,
    VERBS,
    Pronoun,
    Verb,
)
from attncli.embedded.grammar.meaning import Clause, Phrase, Sentence, written


def test_lexicon_has_one_word_for_each_concept() -> None:
    for words in (
        [one.english for one in NOUNS],
        [one.german[0][0] for one in NOUNS],
        [one.english for one in ADJECTIVES],
        [one.german for one in ADJECTIVES],
        [one.base for one in VERBS],
        [one.prefix + one.infinitive for one in VERBS],
    ):
        assert len(set(words)) == len(words)


def test_pronouns_that_can_replace_each_other_differ_in_every_language() -> None:
    random_number = random.Random(13).random
    seen: dict[tuple[Verb | None, bool], dict[Pronoun, Clause]] = {}
    for _ in range(60_000):
        clause = draw(random_number).clause
        if isinstance(clause.object, Pronoun) and isinstance(clause.subject, Phrase):
            seen.setdefault((clause.verb, clause.tense == "past"), {})[clause.object] = clause
    assert len(seen) == 2 * sum(one.persons and "state" not in one.traits for one in VERBS)
    for clauses in seen.values():
        for clause in clauses.values():
            meanings = [Sentence(clause._replace(object=one)) for one in clauses]
            for realise in (english.realise, german.realise):
                assert len({" ".join(written(realise(one))[0]) for one in meanings}) == len(clauses)
