"""The top-down decoder computes the equations of its paper, step by step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from models.base.types import VocabularySizes
from models.bundle import build
from tests.models.mechanisms import BATCH, refused
from tests.models.small import VOCABULARY, imaged, small_config, small_model

SIZES = VocabularySizes(0, VOCABULARY, False)


@torch.no_grad()
def test_the_decoder_equals_two_lstms_of_pytorch_around_the_attention() -> None:
    model: Any = small_model("top-down-nano")
    decoder, batch = model.decoder, BATCH._replace(source=imaged(BATCH.source))
    first, second = (torch.nn.LSTMCell(1, len(cell.recurrent.bias) // 4) for cell in cells(decoder))
    memory = model.encode(batch.source, batch.source_mask)
    prepared = decoder.prepare(memory)
    attending, writing = prepared.start.unbind(1)
    past, found = decoder.attention.begin(prepared.attention), []
    for tokens in batch.target_in.unbind(1):
        embedded = decoder.embedding(tokens)
        gates = decoder.token_gates(embedded) + decoder.mean_gates(memory.final)
        gates = gates + decoder.feed_gates(writing[:, 0])
        attending = step(first, cells(decoder)[0], gates, attending)
        read = decoder.attention(attending[:, :1], prepared.attention, past)
        past = read.history
        gates = decoder.recurrence.inputs[0](attending[:, 0])
        gates = gates + decoder.context_gates(read.context[:, 0])
        writing = step(second, cells(decoder)[1], gates, writing)
        found.append(writing[:, 0])
    expected = model.teacher_force(batch).features
    torch.testing.assert_close(torch.stack(found, 1), expected, atol=1e-5, rtol=1e-5)


def cells(decoder: Any) -> Any:
    return decoder.recurrence.cells


def step(theirs: Any, ours: Any, gates: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    """Return the state after a step of PyTorch's cell, whose input is the gates of ours."""
    size = state.shape[2]
    keep, write, show, new = (part * size for part in range(4))  # our order of the gates
    order = torch.cat([torch.arange(start, start + size) for start in (write, keep, new, show)])
    weight = ours.recurrent.weight[order]
    inner = gates[:, order] + ours.recurrent.bias[order]
    theirs.weight_ih, theirs.weight_hh = parameter(torch.eye(4 * size)), parameter(weight)
    for name in ("bias_ih", "bias_hh"):
        setattr(theirs, name, parameter(torch.zeros(4 * size)))
    theirs.input_size = 4 * size
    return torch.stack(theirs(inner, tuple(state.unbind(1))), 1)


def parameter(values: torch.Tensor) -> torch.nn.Parameter:
    return torch.nn.Parameter(values)


def test_another_number_of_layers_is_refused() -> None:
    config = replace(small_config("top-down-nano"), decoder_layers=1)
    refused(lambda: build(config, SIZES), "decoder_layers = 1", "model.decoder_layers=2")
