"""Recurrent encoder with self-attention over its earlier states inside the recurrence.

a_i = v^T tanh(W_x x_t + W_s h~_{t-1} + W_h h_i),  i < t
[h~_t; c~_t] = sum_i softmax(a)_i [h_i; c_i]
h_t, c_t = LSTM(x_t, [h~_t; c~_t])       Cheng, Dong and Lapata 2016

h~ is a weighted mean of all earlier states h_i. The cell takes h~ as its previous state in place of
h_{t-1}, so that one state need not represent the whole past. A GRU has no c. The paper reads from
left to right only; here each direction has its own recurrence.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.attention.additive import Additive
from models.base.types import Memory
from models.config import AttentionConfig, ModelConfig
from models.layers import Embedding
from models.numerics.dropout import Dropout

CELLS = {"gru": nn.GRUCell, "lstm": nn.LSTMCell}


class IntraEncoder(nn.Module):
    """Token ids to a memory with one slot per token, and the final states."""

    def __init__(self, embedding: Embedding, config: ModelConfig, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden  # units per direction
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        self.directions = 2 if config.bidirectional else 1
        self.value_size = hidden * self.directions
        self.final_size = hidden * self.directions * config.encoder_layers
        sizes = [config.embedding] + [self.value_size] * (config.encoder_layers - 1)
        self.layers = nn.ModuleList(
            IntraRecurrence(size, hidden, config.cell)
            for size in sizes
            for _ in range(self.directions)
        )

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of ids (B, S) with mask (B, S); `final` as in RnnEncoder."""
        values, finals = self.embedding(source), []
        order = reversing(mask)
        for start in range(0, len(self.layers), self.directions):
            values, outputs = self.dropout(values).float(), []
            for index in range(self.directions):
                read = values if index == 0 else reordered(values, order)
                states = self.layers[start + index](read)  # (B, S, H)
                finals.append(states[torch.arange(len(mask), device=mask.device), mask.sum(1) - 1])
                outputs.append(states if index == 0 else reordered(states, order))
            values = torch.cat(outputs, 2)
        return Memory(self.dropout(values) * mask.unsqueeze(-1), mask, torch.cat(finals, 1))


class IntraRecurrence(nn.Module):
    """One layer in one direction."""

    def __init__(self, input_size: int, hidden: int, cell: str) -> None:
        super().__init__()
        self.cell = CELLS[cell](input_size, hidden)
        self.score = Additive(input_size + hidden, hidden, AttentionConfig(size=hidden))
        self.parts, self.hidden = 2 if cell == "lstm" else 1, hidden

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute states (B, S, H) of inputs (B, S, E). A step reads no later input: no mask."""
        with torch.autocast(inputs.device.type, enabled=False):
            summary = inputs.new_zeros(inputs.shape[0], self.parts, self.hidden)
            states: list[Tensor] = []
            keys: list[Tensor] = []
            for t in range(inputs.shape[1]):
                if states:
                    query = torch.cat([inputs[:, t], summary[:, 0]], 1).unsqueeze(1)
                    weights = self.score(query, torch.stack(keys, 1)).softmax(-1)  # (B, 1, t)
                    past = torch.stack(states, 1).flatten(2)  # (B, t, N * H)
                    summary = (weights @ past).view_as(summary)
                states.append(self.step(inputs[:, t], summary))
                keys.append(self.score.prepare(states[-1][:, 0]))
        return torch.stack(states, 1)[:, :, 0]

    def step(self, x: Tensor, summary: Tensor) -> Tensor:
        """Return the state (B, N, H) after an input (B, E); N is 1 for GRU, 2 for LSTM."""
        if self.parts == 1:
            return self.cell(x, summary[:, 0]).unsqueeze(1)
        return torch.stack(self.cell(x, (summary[:, 0], summary[:, 1])), 1)


def reversing(mask: Tensor) -> Tensor:
    """Return the indices (B, S) that reverse each sentence and keep its padding."""
    places = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places)


def reordered(x: Tensor, places: Tensor) -> Tensor:
    """Return x (B, S, D) with its slots taken from places (B, S)."""
    return x.gather(1, places.unsqueeze(-1).expand_as(x))
