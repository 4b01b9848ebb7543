"""Monotonic attention equals its papers' recursions in training and algorithms in decoding."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from models.attention.multihead import attention
from models.attention.normalisers import MoChA, Monotonic, expected_stops
from models.core.attention_config import AttentionConfig
from models.core.types import Memory
from tests.models.small import changed

LENGTHS = (6, 4)
SLOTS = torch.arange(6)[None] < torch.tensor(LENGTHS)[:, None]  # (B, S)
CONFIG = AttentionConfig.of(score="dot", normalise="mocha", chunk=3)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def stops_by_recursion(scores: list[float], before: list[float]) -> list[float]:
    """Return the stops of one step: eq. 8 of Raffel et al. 2017, q_j a slot at a time."""
    found, q, chance = [], 0.0, 0.0
    for score, share in zip(scores, before, strict=True):
        q = (1 - chance) * q + share
        chance = sigmoid(score)
        found.append(chance * q)
    return found


def chunks_by_loops(stops: list[float], u: list[float], width: int) -> list[float]:
    """Return the weights of one step: eq. 13 of Chiu and Raffel 2018."""
    weights = [0.0] * len(u)
    for k, stop in enumerate(stops):
        chunk = range(max(0, k - width + 1), k + 1)
        for i in chunk:
            weights[i] += stop * math.exp(u[i]) / sum(math.exp(u[j]) for j in chunk)
    return weights


def first_slot() -> Tensor:
    return torch.eye(6)[:1].expand(2, 1, 6)


def test_expected_stops_equal_the_recursion_over_many_steps() -> None:
    torch.manual_seed(1)
    position = first_slot()
    expected = position[:, 0].tolist()
    for _ in range(4):
        scores = torch.randn(2, 1, 6) * 2
        position = expected_stops(scores, SLOTS[:, None], position)
        for b, length in enumerate(LENGTHS):
            row = stops_by_recursion(scores[b, 0, :length].tolist(), expected[b][:length])
            expected[b] = row + [0.0] * (6 - length)
        assert position[:, 0].flatten().tolist() == pytest.approx(sum(expected, []), abs=1e-6)


def test_expected_stops_of_long_sources_do_not_underflow() -> None:
    scores = torch.full((1, 1, 300), 3.0, requires_grad=True)  # their product of (1 - p) is 1e-396
    position = torch.eye(300)[250].view(1, 1, 300)
    found = expected_stops(scores, torch.ones(1, 1, 300).bool(), position)
    expected = stops_by_recursion([3.0] * 300, position[0, 0].tolist())
    assert found[0, 0].tolist() == pytest.approx(expected, abs=1e-6)
    found[0, 0, 252].backward()
    assert scores.grad is not None and scores.grad.isfinite().all() and scores.grad[0, 0, 250] < 0


def test_weights_of_chunks_equal_the_published_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("torch.randn_like", torch.zeros_like)  # no noise
    torch.manual_seed(1)
    part = MoChA(CONFIG).train()
    scores, u = torch.randn(2, 1, 6), torch.randn(2, 1, 6)
    weights, stops = part(scores, SLOTS[:, None], first_slot(), u)
    for b, length in enumerate(LENGTHS):
        odds = (scores[b, 0, :length] + part.offset).tolist()
        expected = stops_by_recursion(odds, [1.0] + [0.0] * (length - 1))
        assert stops[b, 0, :length].tolist() == pytest.approx(expected, abs=1e-6)
        by_loops = chunks_by_loops(expected, u[b, 0, :length].tolist(), 3)
        assert weights[b, 0, :length].tolist() == pytest.approx(by_loops, abs=1e-6)
    assert (weights[1, 0, 4:] == 0).all()


@torch.no_grad()
def test_decoding_stops_at_the_first_slot_above_the_threshold_and_never_goes_back() -> None:
    torch.manual_seed(1)
    parts = (Monotonic(AttentionConfig.of(normalise="monotonic")), MoChA(CONFIG))
    for part in parts:
        position, last = first_slot(), [0, 0]
        part.eval().offset.fill_(0.0)
        for _ in range(5):
            scores, u = torch.randn(2, 1, 6), torch.randn(2, 1, 6)
            weights, position = part(scores, SLOTS[:, None], position, u)
            for b, length in enumerate(LENGTHS):
                stops = [0.0] * length
                for j in range(last[b], length):  # algorithm 1
                    if sigmoid(float(scores[b, 0, j])) > 0.5:
                        stops[j], last[b] = 1.0, j
                        break
                else:
                    last[b] = length
                expected = stops
                if isinstance(part, MoChA):
                    expected = chunks_by_loops(stops, u[b, 0, :length].tolist(), 3)
                assert weights[b, 0, :length].tolist() == pytest.approx(expected, abs=1e-6)


@torch.no_grad()
def test_a_chunk_of_one_slot_is_hard_monotonic_attention() -> None:
    for training, heads in itertools.product((True, False), (1, 2)):
        made = []
        for normalise in ("mocha", "monotonic"):
            torch.manual_seed(1)
            config = AttentionConfig.of(score="dot", normalise=normalise, heads=heads)
            config = changed(config, chunk=1)
            made.append(attention(4, 4, config).train(training))
        query, memory = torch.randn(2, 1, 4), Memory(torch.randn(2, 6, 4), SLOTS)
        found = []
        for part in made:
            torch.manual_seed(2)
            found.append(part(query, part.prepare(memory)).weights)
        torch.testing.assert_close(*found)
