"""Search against brute force, plain loops and counting."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from models.core.settings import limits_of
from models.core.types import Memory, select
from models.core.use_config import SearchConfig
from models.networks.encoder_decoder import EncoderDecoder
from models.search._sampling import sample_tokens
from models.search.beam import search
from models.search.hypotheses import Finished
from models.text.tokenizer import END, NEVER_OUTPUT, START
from tests.models.search.exhaustive import (
    WORDS,
    agree,
    every_output,
    log_prob_of,
    memory_of,
    one_of_each_family,
    outputs,
)
from tests.models.small import (
    FIRST_WORD,
    TEXT_PRESETS,
    VOCABULARY,
    small_model,
)

pytestmark = pytest.mark.usefixtures("no_gradients")
every_preset = pytest.mark.parametrize("preset", TEXT_PRESETS)

METHODS = limits_of(SearchConfig, "method").choices


def biased(preset: str, biases: dict[int, float]) -> EncoderDecoder:
    """Return a small model that says some tokens more, or less, than it would."""
    model = copy.deepcopy(small_model(preset))
    for token, bias in biases.items():
        model.output.bias[token] += bias
    return model


@one_of_each_family
@pytest.mark.parametrize("alpha", [0.0, 1.0, 3.0])
def test_a_beam_as_wide_as_the_space_ranks_it_as_brute_force(preset: str, alpha: float) -> None:
    model = small_model(preset, FIRST_WORD + WORDS)
    lengths = [3, 5]
    config = SearchConfig(beam=64, nbest=64, length_penalty=alpha)
    for row, found in enumerate(outputs(model, lengths, 4, config)):
        expected = every_output(model, lengths, row, alpha)
        assert len(expected) == 40
        agree(found, expected)


def greedy_loop(model: EncoderDecoder, memory: Memory, limit: int) -> Finished:
    """Return the likeliest token, again and again."""
    prepared, state = model.start(memory)
    ids: list[int] = []
    log_prob, token = 0.0, START
    while True:
        step = model.step(torch.tensor([token]), state, prepared)
        log_probs, state = step.log_probs, step.state
        best = max(range(END, log_probs.shape[1]), key=lambda i: float(log_probs[0, i]))
        token = END if len(ids) + 1 == limit else best
        log_prob += float(log_probs[0, token])
        if token == END:
            return Finished(tuple(ids), log_prob, log_prob * 6 / (5 + len(ids) + 1))
        ids.append(token)


@every_preset
def test_a_beam_of_one_is_greedy_is_the_likeliest_of_one(preset: str) -> None:
    model = biased(preset, {END: -1.0})
    rows = [torch.tensor([row]) for row in range(3)]
    memory = memory_of(model, 5, 3, 8)
    expected = [[greedy_loop(model, select(memory, row), 12)] for row in rows]
    for config in (
        SearchConfig(beam=1),
        SearchConfig(method="greedy"),
        SearchConfig(method="sample", top_k=1),
        SearchConfig(method="sample", temperature=0.0),
        SearchConfig(method="sample", top_p=0.0),
    ):
        for one, other in zip(outputs(model, [5, 3, 8], 12, config), expected, strict=True):
            agree(one, other)


def beam_loop(model: EncoderDecoder, memory: Memory, limit: int, width: int) -> list[Finished]:
    """Beam search of one sentence, a hypothesis at a time."""
    prepared, state = model.start(memory)
    live: list[tuple[float, tuple[int, ...], Any]] = [(0.0, (), state)]
    found: list[Finished] = []
    while live and len(found) < width:
        longer = []
        for log_prob, ids, state in live:
            token = torch.tensor([ids[-1] if ids else START])
            step = model.step(token, state, prepared)
            log_probs, after = step.log_probs, step.state
            allowed = [END] if len(ids) + 1 == limit else range(END, log_probs.shape[1])
            longer += [(log_prob + float(log_probs[0, i]), (*ids, i), after) for i in allowed]
        longer.sort(key=lambda hypothesis: -hypothesis[0])
        for log_prob, ids, _ in longer[:width]:
            if ids[-1] == END and len(found) < width:
                found.append(Finished(ids[:-1], log_prob, log_prob * 6 / (5 + len(ids))))
        live = [hypothesis for hypothesis in longer if hypothesis[1][-1] != END][:width]
    return sorted(found, key=lambda f: -f.score)


@one_of_each_family
@pytest.mark.parametrize("width", [2, 5])
def test_beam_search_of_a_batch_equals_a_plain_loop(preset: str, width: int) -> None:
    model = biased(preset, {END: 1.0})
    memory = memory_of(model, 5, 3, 8)
    config = SearchConfig(beam=width, nbest=width)
    for row, found in enumerate(outputs(model, [5, 3, 8], 7, config)):
        expected = beam_loop(model, select(memory, torch.tensor([row])), 7, width)
        agree(found, expected)
        assert len(found) == width


@one_of_each_family
@pytest.mark.parametrize("method", METHODS)
def test_scores_are_the_models_own_under_the_length_penalty(preset: str, method: str) -> None:
    model = small_model(preset)
    nbest = 1 if method == "greedy" else 4
    config = SearchConfig(
        method=method, nbest=nbest, length_penalty=0.6, temperature=1.5, top_p=0.9
    )
    for row, found in enumerate(outputs(model, [5, 3], 9, config)):
        assert len(found) == nbest
        for ids, log_prob, score, *_ in found:
            assert log_prob == pytest.approx(log_prob_of(model, [5, 3], row, ids), abs=1e-4)
            assert score == pytest.approx(log_prob / ((5 + len(ids) + 1) / 6) ** 0.6, abs=1e-5)


@one_of_each_family
@pytest.mark.parametrize("method", METHODS)
def test_marks_are_never_said(preset: str, method: str) -> None:
    model = biased(preset, {**dict.fromkeys(NEVER_OUTPUT, 20.0), END: -1.0})
    config = SearchConfig(method=method, nbest=1 if method == "greedy" else 5)
    found = [f for group in outputs(model, [5, 3], 9, config) for f in group]
    said = {token for f in found for token in f.ids}
    assert said and not said & {*NEVER_OUTPUT, END}


@one_of_each_family
@pytest.mark.parametrize("method", METHODS)
def test_limits_are_kept_sentence_by_sentence(preset: str, method: str) -> None:
    model = biased(preset, {END: -30.0})
    limits = [1, 6, 3]
    found = search(
        model, memory_of(model, 5, 3, 8), limits, ["a", "b", "c"], SearchConfig(method=method)
    )
    assert [len(group[0].ids) + 1 for group in found] == limits


@one_of_each_family
def test_samples_follow_the_seed_and_the_text(preset: str) -> None:
    model, config = small_model(preset), SearchConfig(method="sample", nbest=5)
    once, again = (outputs(model, [6, 4], 9, config) for _ in range(2))
    assert once == again
    assert once != outputs(model, [6, 4], 9, SearchConfig(method="sample", nbest=5, seed=2))
    assert len({found.ids for found in once[0]}) > 1
    memory = memory_of(model, 6, 6)  # two texts of the same length draw for themselves
    same = select(memory, torch.tensor([0, 0]))
    one, other = search(model, same, [9, 9], ["one text", "another"], config)
    assert one != other


def drawn_shares(log_probs: Tensor, config: SearchConfig) -> Tensor:
    """How often each token is drawn when uniform numbers are spread evenly."""
    count = 20_000
    uniform = (torch.arange(count) + 0.5) / count
    tokens = sample_tokens(log_probs.repeat(count, 1), uniform, config)
    return torch.bincount(tokens, minlength=len(log_probs)) / count


def test_a_draw_is_from_the_likeliest_tokens_at_the_temperature() -> None:
    torch.manual_seed(1)
    log_probs = (torch.randn(12) * 2).log_softmax(0)
    spoken = log_probs.clone()
    spoken[list(NEVER_OUTPUT)] = -math.inf
    order = spoken.sort(descending=True).indices

    def expected(temperature: float, kept: int) -> Tensor:
        cut = torch.full_like(spoken, -math.inf)
        cut[order[:kept]] = spoken[order[:kept]]
        return (cut / temperature).softmax(0)

    cumulative = expected(1.0, 12).sort(descending=True).values.cumsum(0)
    nucleus = int((cumulative < 0.8).sum()) + 1
    half_of_two = float(expected(1.0, 2).max()) * 0.99
    for config, shares in (
        (SearchConfig(), expected(1.0, 12)),
        (SearchConfig(temperature=0.5), expected(0.5, 12)),
        (SearchConfig(temperature=3.0), expected(3.0, 12)),
        (SearchConfig(top_k=3), expected(1.0, 3)),
        (SearchConfig(top_k=3, temperature=2.0), expected(2.0, 3)),
        (SearchConfig(top_k=100), expected(1.0, 12)),
        (SearchConfig(top_k=2, top_p=half_of_two), expected(1.0, 1)),  # a share of what top-k left
        (SearchConfig(top_p=0.8), expected(1.0, nucleus)),
        (SearchConfig(top_p=1e-9), expected(1.0, 1)),
    ):
        torch.testing.assert_close(drawn_shares(log_probs, config), shares, atol=2e-4, rtol=0)


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-24, 1.0])
def test_a_draw_at_the_edge_is_a_token_that_may_be_said(uniform: float) -> None:
    log_probs = torch.full((1, VOCABULARY), -math.inf)
    log_probs[0, [0, 7]] = math.log(0.5)
    tokens = sample_tokens(log_probs, torch.tensor([uniform]), SearchConfig())
    assert tokens.tolist() == [7]
