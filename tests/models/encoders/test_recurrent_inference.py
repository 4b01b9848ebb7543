"""Recurrent layers in inference give the outputs and last states of torch's own."""

from __future__ import annotations

import pytest
import torch

from models.encoders import padded_rnn
from models.encoders.padded_rnn import CELLS
from models.encoders.recurrent_inference import read_padded, suits
from models.numerics.linear import prefers_onednn
from tests.models.small import sources


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_padded_sentences_are_read_as_torch_reads_them(
    cell: str, layers: int, bidirectional: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(1)
    rnn = CELLS[cell](5, 4, layers, batch_first=True, bidirectional=bidirectional)
    _, mask = sources(3, 6, 1, 6)
    x = torch.randn(4, 6, 5)
    with torch.inference_mode():
        found = read_padded(rnn, x, mask)
        monkeypatch.setattr(padded_rnn, "suits", lambda rnn, x: False)
        torch.testing.assert_close(found, rnn(x, mask), atol=1e-6, rtol=1e-5)


@pytest.mark.skipif(not prefers_onednn(), reason="a processor for which MKL is fast")
def test_one_sentence_and_training_are_left_to_torch() -> None:
    rnn = CELLS["gru"](8, 256, batch_first=True)
    many, one = torch.randn(64, 3, 8), torch.randn(1, 3, 8)
    with torch.inference_mode():
        assert suits(rnn, many) and not suits(rnn, one)
        with torch.autocast("cpu", torch.bfloat16):
            assert not suits(rnn, many)
    assert not suits(rnn, many)
