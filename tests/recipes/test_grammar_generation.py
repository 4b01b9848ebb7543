"""Words and generated sentences: unambiguous, fully linked, and those of the shipped file."""

from __future__ import annotations

import random

import pytest
from grammar import english, german, rows
from grammar.draw import draw
from grammar.lexicon import (
    VERBS,
    Pronoun,
    Verb,
)
from grammar.meaning import Clause, Phrase, Sentence, written
from write_grammar import content

from attncli.data.embedded import _lines, _rows


@pytest.mark.slow
def test_equal_sentences_have_equal_translations() -> None:
    targets, sources = dict[str, str](), dict[str, str]()
    for _, source, target, _ in rows(20_000, seed=3):
        assert targets.setdefault(source.lower(), target) == target
        assert sources.setdefault(target.lower(), source) == source
    assert len(targets) > 18_000 and len(sources) > 18_000


def test_every_content_word_is_linked() -> None:
    unlinked: set[str] = set()
    for _, source, target, pharaoh in rows(1_000, seed=4):
        words, others = source.split(), target.split()
        links = [tuple(map(int, link.split("-"))) for link in pharaoh.split()]
        assert links and links == sorted(set(links))
        assert all(0 <= i < len(words) and 0 <= j < len(others) for i, j in links)
        unlinked |= {words[i] for i in set(range(len(words))) - {i for i, _ in links}}
        unlinked |= {others[j] for j in set(range(len(others))) - {j for _, j in links}}
    assert not unlinked


def test_the_shipped_file_begins_as_the_recipe_writes_it() -> None:
    assert [tuple(row) for row in _rows(1)[:500]] == list(rows(500))


@pytest.mark.slow
def test_the_shipped_file_is_what_the_recipe_writes() -> None:
    assert content() == "".join(f"{line}\n" for line in _lines())


@pytest.mark.slow
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
