"""Generated sentences: unambiguous, fully linked, reproducible; splits share none."""

from __future__ import annotations

from itertools import permutations

import pytest

from attncli.embedded.grammar import LANGUAGES, generate, split

DIRECTIONS = list(permutations(LANGUAGES, 2))


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_equal_sources_have_equal_targets(source: str, target: str) -> None:
    known: dict[str, str] = {}
    for pair in generate(20_000, source=source, target=target, seed=3):
        assert known.setdefault(pair.source.lower(), pair.target) == pair.target
    assert len(known) > 18_000


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_content_word_is_linked(source: str, target: str) -> None:
    unlinked: set[str] = set()
    for pair in generate(2_000, source=source, target=target, seed=4):
        words, others = pair.source.split(), pair.target.split()
        assert pair.links and list(pair.links) == sorted(set(pair.links))
        assert all(0 <= i < len(words) and 0 <= j < len(others) for i, j in pair.links)
        unlinked |= {words[i] for i in set(range(len(words))) - {i for i, _ in pair.links}}
    assert unlinked <= {",", "Est-ce", "est-ce", "que", "?"}


def test_links_of_a_direction_are_those_of_the_other_turned() -> None:
    there = generate(500, source="de", target="fr", seed=5)
    back = generate(500, source="fr", target="de", seed=5)
    for pair, turned in zip(there, back, strict=True):
        assert (pair.source, pair.target) == (turned.target, turned.source)
        assert pair.links == tuple(sorted((i, j) for j, i in turned.links))


def test_a_seed_says_the_same_in_every_language_and_every_time() -> None:
    german_pairs = list(generate(300, seed=6))
    assert german_pairs == list(generate(300, seed=6))
    french_pairs = list(generate(300, target="fr", seed=6))
    assert [pair.source for pair in german_pairs] == [pair.source for pair in french_pairs]
    assert german_pairs != list(generate(300, seed=7))


def test_sentences_are_short_and_look_like_sentences() -> None:
    for pair in generate(5_000, target="fr", seed=8):
        assert 3 <= len(pair.source.split()) <= 20
        assert pair.source[0].isupper() and pair.target[0].isupper()
        assert pair.source[-1] in ".?" and "  " not in pair.source + pair.target
        assert pair.target.endswith(" ?") == pair.source.endswith("?")


def test_splits_share_no_source_sentence() -> None:
    train, dev, test = split(5_000, 300, 200, seed=10)
    assert (len(train), len(dev), len(test)) == (5_000, 300, 200)
    held_out = {pair.source for pair in dev + test}
    assert len(held_out) == 500
    assert not held_out & {pair.source for pair in train}
