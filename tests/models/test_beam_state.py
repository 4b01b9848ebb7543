"""A beam state gives the features of plain states, whichever hypotheses are selected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from models.decoders.base import for_beams
from models.decoders.beam_state import BLOCK, BeamState
from models.families.encoder_decoder import EncoderDecoder
from models.numerics.join import join
from models.text.tokenizer import START
from tests.models.small import VOCABULARY, small_model, sources


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


def begun(model: EncoderDecoder, *lengths: int) -> tuple[Any, Any, BeamState]:
    """Return the prepared memory of sources, the plain state and the beam state."""
    prepared, state = model.start(model.encode(*sources(*lengths)))
    shared = for_beams(state)
    assert isinstance(shared, BeamState)
    return prepared, state, shared


def chosen(sentences: int, beam: int, wider: int, kept: Tensor) -> Tensor:
    """Return rows of `wider` random hypotheses for each kept sentence."""
    rows = torch.arange(sentences)[:, None] * beam + torch.randint(0, beam, (sentences, wider))
    return rows[kept].flatten()


@pytest.mark.parametrize("wider", [5, 20])
def test_any_selection_gives_the_features_of_plain_states(wider: int) -> None:
    torch.manual_seed(1)
    model, sentences, beam = small_model("transformer-nano"), 4, 1
    prepared, plain, shared = begun(model, 3, 6, 5, 2)
    tokens = torch.full((sentences,), START)
    for step in range(3 * BLOCK):
        expected, found = (
            model.step(tokens, state, prepared, want_weights=True) for state in (plain, shared)
        )
        torch.testing.assert_close(found.logits, expected.logits)
        torch.testing.assert_close(found.weights, expected.weights)
        kept = torch.arange(sentences)
        if step in (7, 20):  # a sentence is over
            kept = kept[torch.arange(sentences) != 1]
        rows = chosen(sentences, beam, wider, kept)
        plain, shared = expected.state.select(rows), found.state.select(rows)
        prepared, sentences, beam = prepared.select(kept), len(kept), wider
        tokens = torch.randint(START, VOCABULARY, (len(rows),))


@pytest.mark.parametrize("beam", [3, 2 * BLOCK])
def test_slots_that_no_hypothesis_sees_are_used_again(beam: int) -> None:
    model = small_model("transformer-nano")
    prepared, _, state = begun(model, 3, 5)
    tokens = torch.full((2,), START)
    for _ in range(20):
        state = model.step(tokens, state, prepared).state
        best = torch.tensor([[0], [len(tokens) // 2]]).expand(2, beam)  # all continue one
        state = state.select(best.flatten())
        tokens = torch.randint(START, VOCABULARY, (2 * beam,))
    assert state.bias.shape[2] <= 20 + 2 * beam + BLOCK


def test_joined_states_give_the_features_of_their_parts() -> None:
    torch.manual_seed(1)
    model, parts = small_model("transformer-nano"), []
    for lengths, steps_alike in (((3, 5), 8), ((6,), 0)):  # the second needs more slots
        prepared, _, state = begun(model, *lengths)
        tokens = torch.full((len(lengths),), START)
        for step in range(8):
            state = model.step(tokens, state, prepared).state
            width = len(tokens) // len(lengths)
            own = torch.arange(4) if width == 4 and step >= steps_alike else torch.zeros(4).long()
            rows = torch.arange(len(lengths))[:, None] * width + own
            state = state.select(rows.flatten())
            tokens = torch.randint(START, VOCABULARY, (4 * len(lengths),))
        parts.append((prepared, state, tokens))
    prepared, state = (join([part[n] for part in parts]) for n in (0, 1))
    assert len({part[1].bias.shape[2] for part in parts}) == 2
    together = model.step(torch.cat([part[2] for part in parts]), state, prepared).logits
    alone = [model.step(tokens, state, prepared).logits for prepared, state, tokens in parts]
    torch.testing.assert_close(together, torch.cat(alone))


def test_a_state_is_continued_once() -> None:
    model = small_model("transformer-nano")
    prepared, _, state = begun(model, 3)
    after = model.step(torch.tensor([START]), state, prepared).state
    one, other = after.select(torch.tensor([0, 0])), after.select(torch.tensor([0]))
    model.step(torch.tensor([5, 6]), one, prepared)
    with pytest.raises(RuntimeError, match="continued twice"):
        model.step(torch.tensor([5]), other, prepared)


def test_only_an_empty_state_without_gradients_is_for_beams() -> None:
    model = small_model("transformer-nano")
    prepared, state, _ = begun(model, 3)
    later = model.step(torch.tensor([START]), state, prepared).state
    assert for_beams(later) is later
    with torch.inference_mode(False), torch.enable_grad():
        assert for_beams(state) is state
    recurrent = small_model("rnnsearch-nano")
    _, other = recurrent.start(recurrent.encode(*sources(3)))
    assert for_beams(other) is other
