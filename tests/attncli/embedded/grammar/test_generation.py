"""Words and generated sentences: unambiguous, fully linked, reproducible; splits share none."""

from __future__ import annotations

import random

from attncli.embedded.grammar import english, generate, german, split
from attncli.embedded.grammar.draw import draw
from attncli.embedded.grammar.lexicon import (
    ADJECTIVES,
    NOUNS,
    VERBS,
    Pronoun,
    Verb,
)
from attncli.embedded.grammar.meaning import Clause, Phrase, Sentence, written


def test_equal_sentences_have_equal_translations() -> None:
    targets, sources = dict[str, str](), dict[str, str]()
    for pair in generate(20_000, seed=3):
        assert targets.setdefault(pair.source.lower(), pair.target) == pair.target
        assert sources.setdefault(pair.target.lower(), pair.source) == pair.source
    assert len(targets) > 18_000 and len(sources) > 18_000


def test_every_content_word_is_linked() -> None:
    unlinked: set[str] = set()
    for pair in generate(2_000, seed=4):
        words, others = pair.source.split(), pair.target.split()
        assert pair.links and list(pair.links) == sorted(set(pair.links))
        assert all(0 <= i < len(words) and 0 <= j < len(others) for i, j in pair.links)
        unlinked |= {words[i] for i in set(range(len(words))) - {i for i, _ in pair.links}}
        unlinked |= {others[j] for j in set(range(len(others))) - {j for _, j in pair.links}}
    assert not unlinked


def test_equal_seeds_give_equal_sentences() -> None:
    assert list(generate(300, seed=6)) == list(generate(300, seed=6)) != list(generate(300, seed=7))


def test_sentences_are_short_and_look_like_sentences() -> None:
    for pair in generate(5_000, seed=8):
        assert 3 <= len(pair.source.split()) <= 20
        assert pair.source[0].isupper() and pair.target[0].isupper()
        assert pair.source[-1] in ".?" and "  " not in pair.source + pair.target
        assert pair.target[-1] == pair.source[-1]


def test_splits_share_no_source_sentence() -> None:
    train, dev, test = split(5_000, 300, 200, seed=10)
    assert (len(train), len(dev), len(test)) == (5_000, 300, 200)
    held_out = {pair.source for pair in dev + test}
    assert len(held_out) == 500
    assert not held_out & {pair.source for pair in train}


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
