"""Generated sentences: unambiguous, fully linked, reproducible; splits share none."""

from __future__ import annotations

from attncli.embedded.grammar import generate, split


def test_equal_sentences_have_equal_translations() -> None:
    german, english = dict[str, str](), dict[str, str]()
    for pair in generate(20_000, seed=3):
        assert german.setdefault(pair.source.lower(), pair.target) == pair.target
        assert english.setdefault(pair.target.lower(), pair.source) == pair.source
    assert len(german) > 18_000 and len(english) > 18_000


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
