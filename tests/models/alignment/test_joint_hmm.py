"""Links learned from the pairs alone: close to the truth, the same from both sides."""

from __future__ import annotations

import torch

from attncli.data.alignments.links import PairLinks
from attncli.embedded.grammar import generate
from attncli.scoring.alignments import score_alignments
from models.alignment import diagonal
from models.alignment.hmm import HMM, MODEL1, JointHmm, trained
from models.alignment.word_pairs import normalised, word_pairs
from models.storage.statistical import MAX_WORDS

PAIRS = list(generate(300))
TEXTS = [(pair.source, pair.target) for pair in PAIRS]


def test_links_are_close_to_the_true_ones() -> None:
    gold = [PairLinks(frozenset(pair.links)) for pair in PAIRS]
    floor = [frozenset(diagonal(len(a.split()), len(b.split()))) for a, b in TEXTS]
    found = score_alignments("", trained(TEXTS).links(len(TEXTS)), gold).error_rate
    assert found < 0.15
    assert found < 0.3 * score_alignments("", floor, gold).error_rate


def test_both_directions_are_treated_alike() -> None:
    """The model of each direction is that of the other direction of the turned pairs."""
    there, back = JointHmm(TEXTS[:40]), JointHmm([(b, a) for a, b in TEXTS[:40]])
    for done in range(MODEL1 + HMM):
        there.iterate(done)
        back.iterate(done)
    for group in there.table.groups:
        [turned] = [one for one in back.table.groups if set(one.numbers) == set(group.numbers)]
        ahead, other = there.models[0].posterior(group), back.models[1].posterior(turned.turned())
        torch.testing.assert_close(ahead.links, other.links, atol=1e-4, rtol=1e-3)


def test_pairs_without_words_or_with_too_many_have_no_links() -> None:
    long = " ".join(["a"] * (MAX_WORDS + 1))
    texts = [*TEXTS[:20], ("", "x"), (long, "x"), ("x", " ")]
    assert trained(texts).links(23)[20:] == [frozenset()] * 3
    assert trained([]).links(0) == []


def test_progress_names_every_iteration() -> None:
    seen: list[tuple[int, int]] = []
    trained(TEXTS[:5], lambda stage, done, total: seen.append((done, total)))
    assert seen == [(n, MODEL1 + HMM) for n in range(MODEL1 + HMM)]


def test_case_and_punctuation_at_the_ends_of_a_word_do_not_matter() -> None:
    assert [normalised(word) for word in ("Hund,", "(Hund)", "l'an", "...", "U.S.")] == [
        *("hund", "hund", "l'an", "...", "u.s"),
    ]
    assert word_pairs([("A dog, a dog", "x")]).source_words == ("a", "dog")
