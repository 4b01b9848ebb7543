"""Windows equal their formulas."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from models.attention.base import Attention
from models.attention.windows import LocalMedian, LocalMonotonic, LocalPredictive
from models.core.attention_config import AttentionConfig
from models.core.types import Memory
from tests.models.attention.formulas import dot, times
from tests.models.mechanisms import a_past


@torch.no_grad()
def test_local_m_sees_the_slots_around_its_step() -> None:
    window = LocalMonotonic(3, AttentionConfig.of(window="local_m", window_size=1))
    mask = torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    past = a_past()
    for step in range(7):
        view = window(
            torch.randn(2, 3, 3), mask[:, None], past._replace(step=torch.full((2, 3), step))
        )
        for b, length in ((0, 3), (1, 5)):
            centre = min(step, length - 1)
            expected = [abs(i - centre) <= 1 and i < length for i in range(5)]
            assert view.slots[b].tolist() == [expected] * 3
    assert view.share is None


@torch.no_grad()
def test_local_p_is_its_formula_with_each_sentences_own_length() -> None:
    torch.manual_seed(1)
    window = LocalPredictive(3, AttentionConfig.of(window="local_p", window_size=2))
    query, mask = torch.randn(2, 3, 3), torch.tensor([[True] * 4 + [False] * 5, [True] * 9])
    slots, share = window(query, mask[:, None], None)
    for b, t in itertools.product(range(2), range(3)):
        length = 4 if b == 0 else 9
        hidden = [math.tanh(x) for x in times(window.hidden.weight, query[b, t].tolist())]
        centre = length / (1 + math.exp(-dot(window.place.weight[0].tolist(), hidden)))
        for i in range(9):
            assert bool(slots[b, t, i]) == (abs(i - centre) <= 2 and i < length)
            gauss = math.exp(-((i - centre) ** 2) / (2 * 1**2))  # sigma = D / 2
            assert float(share[b, t, i]) == pytest.approx(gauss, abs=1e-5)


def test_the_gaussian_comes_after_the_softmax_and_nothing_is_normalised_again() -> None:
    torch.manual_seed(1)
    asked = Attention(4, 4, AttentionConfig.of(score="dot", window="local_p", window_size=2))
    query, memory = torch.randn(1, 1, 4), Memory(torch.randn(1, 9, 4), torch.ones(1, 9).bool())
    slots, share = asked.window(query, memory.mask[:, None], None)
    scores = (query @ memory.values.mT).masked_fill(~slots, -torch.inf)
    assert share is not None
    attended = asked(query, asked.prepare(memory))
    torch.testing.assert_close(attended.weights, scores.softmax(-1) * share)


def test_a_window_follows_the_median_of_the_last_weights_from_the_first_slot_on() -> None:
    window = LocalMedian(3, AttentionConfig.of(window="median", window_size=1))
    mask, query = torch.ones(1, 1, 6, dtype=torch.bool), torch.zeros(1, 1, 3)
    past = a_past().map(lambda part: part[:1, :1])
    for previous, centre in (
        ([0, 0, 0, 1, 0, 0], 3),
        ([0.4, 0.2, 0.4, 0, 0, 0], 1),
        ([0.2, 0, 0, 0, 0.2, 0.6], 5),
    ):
        last = torch.tensor(previous).view(1, 1, 6).float()
        for step in (0, 1):
            seen = window(query, mask, past._replace(step=torch.full((1, 1), step), previous=last))
            at = centre if step else 0
            assert seen.slots.flatten().tolist() == [abs(i - at) <= 1 for i in range(6)]
