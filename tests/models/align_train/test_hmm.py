"""Hidden Markov models link the words of training pairs, and of new ones as they linked these."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import torch
from torch import Tensor

from attncli.data.alignments import PairLinks
from attncli.data.embedded import generate
from attncli.scoring.sequences import score_alignments
from models.align_train.hmm import HMM, MODEL1, JointHmm, link_probabilities, trained, turned
from models.align_train.tables import (
    MAX_WORDS,
    StatisticalTables,
    as_tensor,
    as_words,
    read_statistical,
    write_statistical,
)
from models.alignment import diagonal
from models.alignment.chain import NULL, forward_backward, smoothed, steps_of, widths
from models.alignment.weights import UnitWeights

PAIRS = list(generate(300))
TEXTS = [(pair.source, pair.target) for pair in PAIRS]
WORDS = [(source.split(), target.split()) for source, target in TEXTS]


@pytest.fixture(scope="module")
def joint() -> JointHmm:
    """Return the models of both directions."""
    return trained(TEXTS)


def tables(aligner: StatisticalTables, pairs: list[tuple[list[str], list[str]]]) -> list[Tensor]:
    """Return the link probabilities of pairs, which all have some."""
    return [table for table in link_probabilities(aligner, pairs) if table is not None]


def test_links_are_close_to_the_true_ones(joint: JointHmm) -> None:
    gold = [PairLinks(frozenset(pair.links)) for pair in PAIRS]
    floor = [frozenset(diagonal(len(a.split()), len(b.split()))) for a, b in TEXTS]
    found = score_alignments(joint.links(len(TEXTS)), gold).error_rate
    assert found < 0.15
    assert found < 0.3 * score_alignments(floor, gold).error_rate


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


def test_pairs_without_words_or_with_too_many_have_no_links_and_no_probabilities() -> None:
    long = ["a"] * (MAX_WORDS + 1)
    wrong = [([], ["x"]), (long, ["x"]), (["x"], [])]
    found = trained([*TEXTS[:20], *((" ".join(a), " ".join(b)) for a, b in wrong)])
    assert found.links(23)[20:] == [frozenset()] * 3
    assert link_probabilities(found.tables(), wrong) == [None] * 3
    assert trained([]).links(0) == []


def test_training_pairs_have_the_mean_posterior_of_both_models(joint: JointHmm) -> None:
    found = tables(joint.tables(), WORDS)
    for group in joint.table.groups:
        ahead, back = joint.posteriors(group, MODEL1 + HMM)
        for n, mean in zip(group.numbers, (ahead.links + back.links.mT) / 2, strict=True):
            torch.testing.assert_close(found[n], mean, atol=0.01, rtol=0)  # a pruned lexicon


def test_the_turned_aligner_gives_the_transposed_probabilities(joint: JointHmm) -> None:
    aligner = joint.tables()
    others = tables(turned(aligner), [(target, source) for source, target in WORDS])
    for table, other in zip(tables(aligner, WORDS), others, strict=True):
        torch.testing.assert_close(table.T, other, atol=1e-6, rtol=0)


def test_an_unknown_word_is_linked_by_its_neighbours(joint: JointHmm) -> None:
    aligner = joint.tables()
    source, target = next(pair for pair in WORDS if len(pair[0]) == len(pair[1]) >= 4)
    [known] = tables(aligner, [(source, target)])
    place = int((known.diagonal()[1:-1] > 0.9).nonzero()[0]) + 1
    changed = [w if n != place else "qwertz" for n, w in enumerate(source)]
    other = [w if n != place else "uiopue" for n, w in enumerate(target)]
    [table] = tables(aligner, [(changed, other)])
    assert table[place].argmax() == place


def test_the_file_gives_the_aligner_back(joint: JointHmm, tmp_path: Path) -> None:
    aligner = joint.tables()
    assert read_statistical(tmp_path) is None
    write_statistical(aligner, tmp_path)
    stored = read_statistical(tmp_path)
    assert stored is not None and stored[:2] == aligner[:2]
    for table, other in zip(tables(aligner, WORDS), tables(stored, WORDS), strict=True):
        assert table.equal(other)
    words = ("a", "ö\u2028x", "日本")
    assert as_words(as_tensor(words)) == words


def by_enumeration(
    links: torch.Tensor, null: torch.Tensor, steps: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the posteriors (J, I) and (J,) of one pair as sums over every alignment."""
    rows, columns = links.shape
    found, empty = torch.zeros(rows, columns), torch.zeros(rows)
    for states in product(range(2 * columns), repeat=rows):  # I real states, I null states
        places = [state % columns for state in states]
        total, before = 1.0, -1
        for j, (state, place) in enumerate(zip(states, places, strict=True)):
            if state < columns:
                total *= float((1 - NULL) * steps[before + 1, place] * links[j, place])
            else:
                kept = steps[0, place] if before < 0 else float(place == before)
                total *= float(NULL * kept * null[j])
            before = place
        for j, state in enumerate(states):
            if state < columns:
                found[j, state] += total
            else:
                empty[j] += total
    whole = found[0].sum() + empty[0]
    return found / whole, empty / whole


@pytest.mark.parametrize(("rows", "columns"), [(1, 3), (3, 1), (4, 2), (3, 3)])
def test_it_equals_the_sum_over_all_alignments(rows: int, columns: int) -> None:
    links, null = torch.rand(2, rows, columns), torch.rand(2, rows)
    steps = steps_of(torch.exp(-widths(columns).abs().float()))
    found = forward_backward(links, null, steps)
    for n in range(2):
        expected, empty = by_enumeration(links[n], null[n], steps)
        torch.testing.assert_close(found.links[n], expected)
        torch.testing.assert_close(found.null[n], empty)
    nulls = found.null[:, 1:].sum().item()  # after the first word; they make no jump
    assert found.jumps.sum().item() == pytest.approx((rows - 1) * 2 - nulls, 1e-4)


def test_a_doubtful_word_follows_its_neighbours() -> None:
    """The middle word prefers neither side; its neighbours are linked with the first words."""
    weights = torch.tensor([[0.9, 0.02, 0.03, 0.05], [0.0, 0.5, 0.0, 0.5], [0.02, 0.03, 0.9, 0.05]])
    found = smoothed(UnitWeights(weights, torch.zeros(3)), 1.0)
    torch.testing.assert_close(found.weights.sum(1) + found.null, torch.ones(3))
    assert found.weights[1, 1] > 5 * found.weights[1, 3]
