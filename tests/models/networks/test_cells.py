"""Cells, bridges and position codes equal PyTorch's and their formulas."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from models.attention.layers import Bridge, Embedding, GruCell, LstmCell
from models.core.types import VocabularySizes
from models.networks.config import RnnSearchConfig
from models.networks.recurrent import PaddedGru, PaddedLstm, RnnEncoder
from models.networks.text_families import Luong, RnnSearch
from tests.models.small import pairs, small_config, sources, step

SMALL = RnnSearchConfig(embedding=5, hidden=4, encoder_layers=2, decoder_layers=3, dropout=0.0)


def test_the_gru_is_pytorchs() -> None:
    torch.manual_seed(1)
    cell, x, state, theirs = GruCell(4), torch.randn(3, 12), torch.randn(3, 4), nn.GRUCell(12, 4)
    given = {"weight_ih": torch.eye(12), "bias_ih": torch.zeros(12)}  # the gates themselves
    own = cell.recurrent
    theirs.load_state_dict({**given, "weight_hh": own.weight, "bias_hh": own.bias})
    torch.testing.assert_close(cell(x, state[:, None])[:, 0], theirs(x, state))


def test_the_lstm_is_pytorchs_with_the_gates_reordered() -> None:
    torch.manual_seed(1)
    cell, x, state = LstmCell(4), torch.randn(3, 16), torch.randn(3, 2, 4)
    torch.testing.assert_close(cell(x, state), step(cell, x, state))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_the_encoder_ends_in_the_states_at_the_ends(cell: str, bidirectional: bool) -> None:
    torch.manual_seed(1)
    config = dataclasses.replace(SMALL, cell=cell, bidirectional=bidirectional)
    encoder = RnnEncoder(Embedding(30, 5), config, config.hidden).eval()
    memory = encoder(*sources(6, 3, 1))
    assert memory.final is not None
    assert memory.values.shape == (3, 6, encoder.value_size)
    assert memory.final.shape == (3, encoder.final_size)
    assert (memory.values[~memory.mask] == 0).all()
    last = memory.final[:, -encoder.value_size :]  # of the last layer
    for row, length in enumerate((6, 3, 1)):
        torch.testing.assert_close(last[row, :4], memory.values[row, length - 1, :4])
        if bidirectional:
            torch.testing.assert_close(last[row, 4:], memory.values[row, 0, 4:])


def test_rnnsearch_starts_from_the_first_backward_state() -> None:
    torch.manual_seed(1)
    config = small_config("rnnsearch-nano")
    model = RnnSearch(config, VocabularySizes(30, 30, True)).eval()
    memory = model.encode(*sources(6, 3))
    backward = memory.values[:, 0, config.hidden :]  # <-h_1
    _, state = model.start(memory)
    bridge = model.decoder.bridge
    assert isinstance(bridge, Bridge)
    torch.testing.assert_close(state.recurrent[:, 0, 0], bridge.map(backward).tanh())


def test_luong_feeds_its_attentional_vector_to_the_next_step() -> None:
    batch, config = pairs([4, 6], [5, 3]), small_config("luong-nano")
    model = Luong(config, VocabularySizes(30, 30, True)).eval()
    fed = model.teacher_force(batch).features
    with torch.no_grad():
        model.state_dict()["decoder.feed_gates.weight"].zero_()
    plain = model.teacher_force(batch).features
    torch.testing.assert_close(fed[:, 0], plain[:, 0])  # nothing to feed yet
    assert not torch.allclose(fed[:, 1:], plain[:, 1:])


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("padded", "packed"), [(PaddedGru, nn.GRU), (PaddedLstm, nn.LSTM)])
def test_padded_layers_equal_packed_ones(
    padded: Callable[..., nn.Module], packed: Callable[..., nn.Module], bidirectional: bool
) -> None:
    ours = padded(5, 6, 2, batch_first=True, bidirectional=bidirectional)
    theirs = packed(5, 6, 2, batch_first=True, bidirectional=bidirectional)
    theirs.load_state_dict(ours.state_dict())
    lengths = torch.tensor([7, 1, 4])
    x, mask = torch.randn(3, 7, 5), torch.arange(7) < lengths[:, None]
    values, last = ours(x, mask)
    for one, other in zip((values, last), ours._packed(x, mask), strict=True):  # type: ignore[operator]
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)  # as on a GPU
    outputs, states = theirs(pack_padded_sequence(x, lengths, True, enforce_sorted=False))
    states = states[0] if isinstance(states, tuple) else states
    torch.testing.assert_close(values, pad_packed_sequence(outputs, True)[0], atol=1e-6, rtol=0)
    torch.testing.assert_close(last, states, atol=1e-6, rtol=0)
