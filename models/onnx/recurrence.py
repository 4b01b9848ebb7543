"""Recurrent layers as the ONNX operators GRU and LSTM, which read each sentence to its own length.

torch stacks the gates of a GRU as r, z, n and ONNX as z, r, n; those of an LSTM as i, f, g, o and
as i, o, f, g. `linear_before_reset` is the GRU of cuDNN, see models/layers.py.
Source: https://onnx.ai/onnx/operators/onnx__GRU.html and onnx__LSTM.html.
"""

from __future__ import annotations

import copy
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from models.encoders.rnn import PaddedRnn
from models.families.encoder_decoder import EncoderDecoder

GATES = {"GRU": (1, 0, 2), "LSTM": (0, 3, 1, 2)}  # torch's numbers, in the order of ONNX
STATES = {"GRU": 1, "LSTM": 2}  # outputs besides the sequence: hidden state, memory cell
ATTRIBUTES: dict[str, dict[str, Any]] = {"GRU": {"linear_before_reset": 1}, "LSTM": {}}


class OnnxRecurrence(nn.Module):
    """A PaddedRnn in a graph, with the same outputs. It can only be traced."""

    def __init__(self, rnn: PaddedRnn) -> None:
        super().__init__()
        self.mode, self.layers = rnn.mode, rnn.num_layers
        self.directions = 2 if rnn.bidirectional else 1
        self.hidden = rnn.hidden_size
        for layer in range(self.layers):
            for name, weight in zip("WRB", operator_weights(rnn, layer), strict=True):
                self.register_buffer(f"{name}{layer}", weight)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs (B, S, D * H) and the last states (L * D, B, H); see PaddedRnn."""
        lengths, x = mask.sum(1).int(), x.transpose(0, 1)  # (S, B, E)
        finals = []
        for layer in range(self.layers):
            outputs, final = self.read(x, lengths, layer)
            x = outputs.transpose(1, 2).flatten(2)  # (S, B, D * H)
            finals.append(final)
        return x.transpose(0, 1), torch.cat(finals)

    def read(self, x: Tensor, lengths: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """Return the outputs (S, D, B, H) and the last states (D, B, H) of one layer."""
        last = (self.directions, x.shape[1], self.hidden)
        direction = "bidirectional" if self.directions == 2 else "forward"
        outputs, final, *_ = torch.onnx.ops.symbolic_multi_out(
            self.mode,
            (x, *(self.get_buffer(f"{name}{layer}") for name in "WRB"), lengths),
            {"hidden_size": self.hidden, "direction": direction, **ATTRIBUTES[self.mode]},
            dtypes=[x.dtype] * (1 + STATES[self.mode]),
            shapes=[(x.shape[0], *last), *[last] * STATES[self.mode]],
        )
        return outputs, final


@torch.no_grad()
def operator_weights(rnn: PaddedRnn, layer: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the operator's W (D, G * H, E), R (D, G * H, H) and B (D, 2 * G * H) of a layer."""
    gates = GATES[rnn.mode]

    def ordered(name: str) -> Tensor:
        parts = rnn.get_parameter(name).chunk(len(gates))
        return torch.cat([parts[number] for number in gates])

    ends = ("", "_reverse") if rnn.bidirectional else ("",)
    inputs, recurrent, *biases = (
        torch.stack([ordered(f"{name}_l{layer}{end}") for end in ends])
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    return inputs, recurrent, torch.cat(biases, 1)


def with_onnx_recurrence(model: EncoderDecoder) -> EncoderDecoder:
    """Return a copy of a model whose recurrent layers are ONNX operators; weights are shared."""
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    other = copy.deepcopy(model, shared)
    for name, part in list(other.named_modules()):
        if isinstance(part, PaddedRnn):
            other.set_submodule(name, OnnxRecurrence(part))
    return other
