"""GRU and LSTM layers over a batch of padded sentences in inference, with the products of oneDNN.

torch computes them with MKL (see models/numerics/linear.py). For one sentence, its loop is the
faster one. GRU and LSTM are those of models/layers/cells.py; torch stacks the gates of an LSTM as
i, f, g, o.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from models.layers.blocks import tanh
from models.layers.cells import next_gru_state
from models.numerics.linear import linear, prefers_onednn
from models.numerics.packed import PackedMap
from models.numerics.products import suits as pays

States = tuple[Tensor, ...]  # hidden state, and the memory cell of an LSTM; (B, H) each


def suits(rnn: nn.RNNBase, x: Tensor) -> bool:
    """Return True if `read_padded` is faster than torch for inputs (B, S, E)."""
    plain = not (torch.is_grad_enabled() or torch.compiler.is_compiling())
    recurrent: Tensor = rnn.weight_hh_l0  # type: ignore[assignment]
    return plain and prefers_onednn() and pays(x[:, 0, :1].expand(-1, rnn.hidden_size), recurrent)


def read_padded(rnn: nn.RNNBase, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return the outputs (B, S, D * H), 0 on padding, and the last states (L * D, B, H).

    x (B, S, E) with mask (B, S); D directions, L layers. Padding is at the end of each sentence.
    """
    x, mask = x.transpose(0, 1).contiguous(), mask.T  # (S, B, ..)
    rows, last = torch.arange(mask.shape[1]), mask.sum(0) - 1
    finals = []
    for layer in range(rnn.num_layers):
        outputs = [read_forward(rnn, x, mask, f"l{layer}")]
        finals.append(outputs[0][last, rows])
        if rnn.bidirectional:
            backward = read_forward(rnn, x.flip(0), mask.flip(0), f"l{layer}_reverse").flip(0)
            finals.append(backward[0])
            outputs.append(backward)
        x = torch.cat(outputs, 2)
    return x.transpose(0, 1), torch.stack(finals)


def read_forward(rnn: nn.RNNBase, x: Tensor, mask: Tensor, name: str) -> Tensor:
    """Return the hidden states (S, B, H) of one direction, which are 0 where the mask is False."""
    inputs, recurrent, of_input, of_recurrent = (
        rnn.get_parameter(f"{kind}_{name}")
        for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    product, step = PackedMap(recurrent, of_recurrent), STEPS[rnn.mode]
    first = x.new_zeros(x.shape[1], rnn.hidden_size)
    states: States = (first, first) if rnn.mode == "LSTM" else (first,)
    outputs = []
    whole = mask.all(1).tolist()
    real = mask.unsqueeze(2).to(x.dtype).unbind()  # S times (B, 1)
    for t, gates in enumerate(linear(x, inputs, of_input).unbind()):  # (B, G)
        states = step(gates, product(states[0]), states)
        if not whole[t]:
            states = tuple(state * real[t] for state in states)
        outputs.append(states[0])
    return torch.stack(outputs)


def gru_step(x: Tensor, recurrent: Tensor, states: States) -> States:
    """Return the next state of a GRU from both parts of its gates (B, 3H)."""
    return (next_gru_state(x, recurrent, states[0]),)


def lstm_step(x: Tensor, recurrent: Tensor, states: States) -> States:
    """Return the next states of an LSTM from both parts of its gates (B, 4H)."""
    size = states[0].shape[1]
    write_keep, new, show = (x + recurrent).split([2 * size, size, size], 1)
    write, keep = write_keep.sigmoid().chunk(2, 1)
    cell = keep * states[1] + write * tanh(new)
    return show.sigmoid() * tanh(cell), cell


STEPS: dict[str, Callable[[Tensor, Tensor, States], States]] = {"GRU": gru_step, "LSTM": lstm_step}
