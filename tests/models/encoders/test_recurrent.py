"""Recurrent layers over padded sentences give what torch gives for packed ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from models.encoders.recurrent import PaddedGru, PaddedLstm


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
