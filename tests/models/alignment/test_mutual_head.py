"""The head that a model aligns with is the one whose weights are mutual."""

from __future__ import annotations

import pytest

from attncli.embedded.grammar import Pair
from models.alignment import choose_head, head_weights
from models.alignment.align import NEAR, score_heads
from models.inference.translator import Translator


def test_a_head_is_scored_by_the_weight_on_which_both_sides_agree(
    tiny_translator: Translator, tiny_pairs: list[Pair]
) -> None:
    pairs = [(pair.source, pair.target) for pair in tiny_pairs[:5]]
    for config, score in score_heads(tiny_translator, pairs):
        total, words = 0.0, 0
        for each in head_weights(tiny_translator, pairs, config=config):
            assert each is not None
            rows = each[config.layer - 1]  # (H, J, I)
            weights = (rows[config.head - 1] if config.head else rows.mean(0)).tolist()
            for j, row in enumerate(weights):
                for i, weight in enumerate(row):
                    column = [other[i] for other in weights]
                    total += weight * (weight == max(row) and j == column.index(max(column)))
            words += max(len(weights), len(weights[0]))
        assert score == pytest.approx(total / words, abs=1e-5)


def test_the_best_head_is_chosen_unless_the_mean_of_its_layer_is_nearly_as_good(
    tiny_translator: Translator, tiny_pairs: list[Pair]
) -> None:
    pairs = [(pair.source, pair.target) for pair in tiny_pairs[:5]]
    scores = dict(score_heads(tiny_translator, pairs))
    best, chosen = max(scores.values()), choose_head(tiny_translator, pairs)
    assert scores[chosen] >= NEAR * best
    assert scores[chosen] == best or not chosen.head
