"""The adaptive and the top-down decoder compute the equations of their papers, step by step."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from models.core.types import VocabularySizes
from tests.models.attention.formulas import FORMULAS
from tests.models.mechanisms import BATCH
from tests.models.small import VOCABULARY, imaged, small_model, step

SIZES = VocabularySizes(0, VOCABULARY, False)


@torch.no_grad()
def test_the_sentinel_shares_one_softmax_with_the_cells() -> None:
    model: Any = small_model("adaptive-nano")
    decoder, batch = model.decoder, BATCH._replace(source=imaged(BATCH.source))
    memory = model.encode(batch.source, batch.source_mask)
    cells = decoder.cells(memory.values).relu()
    image = decoder.image_gates(decoder.image(memory.final).relu())
    state, size = decoder.prepare(memory).start, cells.shape[2]
    forced = model.teacher_force(batch, want_weights=True)
    for t, tokens in enumerate(batch.target_in.unbind(1)):
        gates = decoder.token_gates(decoder.embedding(tokens)) + image
        own = (gates[:, -size:] + decoder.state_gate(state[:, 0, 0])).sigmoid()
        state = decoder.recurrence(gates[:, :-size], state)
        sentinel = own * state[:, 0, 1].tanh()
        for b, slots in enumerate(batch.source_mask.sum(1).tolist()):
            query = state[b, 0, 0].tolist()
            slot_keys = [*cells[b, :slots].tolist(), decoder.sentinel_key(sentinel[b]).tolist()]
            score = decoder.attention.score
            scores = [FORMULAS["additive"](query, key, 0, [], score) for key in slot_keys]
            scores[-1] += float(decoder.attention.null.score)
            powers = [math.exp(one) for one in scores]
            *weights, beta = (power / sum(powers) for power in powers)
            assert forced.weights[b, t, :slots].tolist() == pytest.approx(weights, abs=1e-5)
            assert float(forced.gates[b, t]) == pytest.approx(1 - beta, abs=1e-5)
            context = torch.tensor(weights) @ cells[b, :slots] + beta * sentinel[b]
            expected = context + state[b, 0, 0]
            torch.testing.assert_close(forced.features[b, t], expected, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_the_decoder_equals_two_lstms_of_pytorch_around_the_attention() -> None:
    model: Any = small_model("top-down-nano")
    decoder, batch = model.decoder, BATCH._replace(source=imaged(BATCH.source))
    memory = model.encode(batch.source, batch.source_mask)
    prepared = decoder.prepare(memory)
    attending, writing = prepared.start.unbind(1)
    past, found = decoder.attention.begin(prepared.attention), []
    for tokens in batch.target_in.unbind(1):
        embedded = decoder.embedding(tokens)
        gates = decoder.token_gates(embedded) + decoder.mean_gates(memory.final)
        gates = gates + decoder.feed_gates(writing[:, 0])
        attending = step(decoder.recurrence.cells[0], gates, attending)
        read = decoder.attention(attending[:, :1], prepared.attention, past)
        past = read.history
        gates = decoder.recurrence.inputs[0](attending[:, 0])
        gates = gates + decoder.context_gates(read.context[:, 0])
        writing = step(decoder.recurrence.cells[1], gates, writing)
        found.append(writing[:, 0])
    expected = model.teacher_force(batch).features
    torch.testing.assert_close(torch.stack(found, 1), expected, atol=1e-5, rtol=1e-5)
