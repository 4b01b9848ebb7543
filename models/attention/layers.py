"""Layers shared by encoders and decoders: embeddings, positions, feed-forward, recurrent cells.

The input part of a recurrent cell is computed in advance, for all steps of a sentence at once.

GRU:   r, z = sigmoid(x_rz + U_rz h);  n = tanh(x_n + r * (U_n h + b_n));  h' = (1 - z) n + z h
       Cho et al. 2014, with the reset gate after the matrix as in cuDNN
LSTM:  i, f, o = sigmoid(..);  g = tanh(..);  c' = f c + i g;  h' = o tanh(c')
       Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from models.core.config import BlocksConfig, RecurrentDecoderConfig
from models.core.numerics import Linear, normal_weights

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    # in place, which spares a tensor of the hidden size
    "relu": torch.relu_,
    "gelu": nn.functional.gelu,
    "gelu_tanh": partial(nn.functional.gelu, approximate="tanh"),
    "swish": nn.functional.silu,
}


class Embedding(nn.Module):
    """Token ids to vectors, times a constant scale: the root of their size in a Transformer.

    Source: Vaswani et al. 2017, section 3.4.
    """

    def __init__(self, vocabulary: int, size: int, *, scale: float = 1.0) -> None:
        super().__init__()
        self.weight = normal_weights(vocabulary, size, deviation=size**-0.5)
        self.scale = scale

    def forward(self, ids: Tensor) -> Tensor:
        """Return vectors (..., D) of ids (...)."""
        return nn.functional.embedding(ids, self.weight) * self.scale


class FeedForward(nn.Module):
    """Two linear maps with an activation f between them, applied at every position.

    FFN(x) = f(x W_1 + b_1) W_2 + b_2;  f is ReLU in the paper
    Source: Vaswani et al. 2017, eq. 2.
    """

    def __init__(self, size: int, hidden: int, dropout: float, activation: str = "relu") -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.inner = Linear(size, hidden)
        self.outer = Linear(hidden, size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map x (B, T, D) to (B, T, D)."""
        return self.outer(self.dropout(self.activation(self.inner(x))))


def normalisation(config: BlocksConfig, *, present: bool = True) -> nn.Module:
    """Return layer normalisation of a Transformer; the identity if it is not present."""
    return nn.LayerNorm(config.embedding, config.norm_epsilon) if present else nn.Identity()


def positions(
    start: int, length: int, size: int, device: torch.device, *, as_printed: bool = False
) -> Tensor:
    """Return sinusoidal position codes (length, size). Vaswani et al. 2017, section 3.5.

    The sines fill the first half and the cosines the second, as in tensor2tensor. as_printed: True
    for the rates of the paper, False for those of tensor2tensor, the last of which is 1 / 10000.
    """
    half = size // 2
    steps = torch.arange(half, device=device)
    rates = torch.exp(steps * (-math.log(10000.0) / max(1, half if as_printed else half - 1)))
    angles = torch.arange(start, start + length, device=device)[:, None] * rates
    code = torch.cat([angles.sin(), angles.cos()], 1)
    # an odd size has one feature more than sines and cosines
    return nn.functional.pad(code, (0, size - 2 * half))


class GruCell(nn.Module):
    """One step of a GRU."""

    gates = 3

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.recurrent = Linear(hidden, 3 * hidden)

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        """Return the next state (R, 1, H) from the input's part of the gates (R, 3H)."""
        hidden = state[:, 0]
        size = hidden.shape[1]
        gates = x.float(), self.recurrent(hidden).float()  # the state stays fp32 under bf16
        (x_rz, x_n), (rz, n) = (part.split([2 * size, size], 1) for part in gates)
        reset, update = (x_rz + rz).sigmoid().chunk(2, 1)
        # the reset gate follows the matrix, as in cuDNN, so that all gates need one product
        return torch.lerp(torch.addcmul(x_n, reset, n).tanh(), hidden, update)[:, None]


class LstmCell(nn.Module):
    """One step of an LSTM; the state holds hidden and memory cell."""

    gates = 4

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.recurrent = Linear(hidden, 4 * hidden)

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        """Return the next state (R, 2, H) from the input's part of the gates (R, 4H)."""
        hidden, cell = state.unbind(1)
        size = hidden.shape[1]
        gates = x.float() + self.recurrent(hidden).float()  # the state stays fp32 under bf16
        keep, write, show = gates[:, : 3 * size].sigmoid().chunk(3, 1)
        cell = keep * cell + write * gates[:, 3 * size :].tanh()
        return torch.stack([show * cell.tanh(), cell], 1)


CELLS: dict[str, type[GruCell] | type[LstmCell]] = {"gru": GruCell, "lstm": LstmCell}


class Recurrence(nn.Module):
    """A stack of cells. Its state is (R, L, N, H): N is 1 for a GRU, 2 for an LSTM."""

    def __init__(self, config: RecurrentDecoderConfig) -> None:
        super().__init__()
        layers, cell = config.decoder_layers, CELLS[config.cell]
        self.cells = nn.ModuleList(cell(config.hidden) for _ in range(layers))
        self.gate_size = cell.gates * config.hidden
        self.inputs = nn.ModuleList(
            Linear(config.hidden, self.gate_size) for _ in range(layers - 1)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.state_shape = (layers, 2 if cell is LstmCell else 1, config.hidden)

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        """Return the next state from the first layer's input gates (R, G)."""
        states: list[Tensor] = []
        for index, cell in enumerate(self.cells):
            if index:
                x = self.inputs[index - 1](self.dropout(states[-1][:, 0]))
            states.append(cell(x, state[:, index]))
        return torch.stack(states, 1)


class Bridge(nn.Module):
    """The decoder's first state from the encoder's final one: s_0 = tanh(W h). Bahdanau, A.2.2."""

    def __init__(self, final_size: int, state_shape: tuple[int, int, int]) -> None:
        super().__init__()
        layers, parts, hidden = state_shape
        self.shape = state_shape
        self.map = Linear(final_size, layers * parts * hidden)

    def forward(self, final: Tensor) -> Tensor:
        """Return the state (B, L, N, H) from final (B, F)."""
        return self.map(final).float().tanh().view(-1, *self.shape)
