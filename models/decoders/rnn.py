"""The recurrent decoder that reads the memory before it moves: Bahdanau's, and the plain one.

c_t = Attention(s_{t-1}, memory)         (without attention: the encoder's last state)
s_t = f(s_{t-1}, y_{t-1}, c_t)
p(y_t) = g(y_{t-1}, s_t, c_t)            g: deep output with maxout
Bahdanau, Cho and Bengio 2015, eq. 4 to 6 and A.2.2
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.attention.base import Attention, Prepared
from models.config import ModelConfig
from models.decoders.base import Advanced, Decoder
from models.decoders.cells import Bridge, Recurrence
from models.dropout import Dropout
from models.layers import Embedding
from models.types import Memory


class RnnMemory(NamedTuple):
    """What a recurrent decoder needs of a source."""

    attention: Prepared | None
    start: Tensor  # (B, L, N, H)
    context: Tensor | None  # (B, V): the fixed context where there is no attention

    def select(self, rows: Tensor) -> RnnMemory:
        """The prepared memory of some sentences."""
        return RnnMemory(
            None if self.attention is None else self.attention.select(rows),
            self.start.index_select(0, rows),
            None if self.context is None else self.context.index_select(0, rows),
        )


class RnnState(NamedTuple):
    """The recurrence, and with input feeding the last attentional vector."""

    recurrent: Tensor  # (R, L, N, H)
    attentional: Tensor | None = None  # (R, H)

    def select(self, rows: Tensor) -> RnnState:
        """Some hypotheses, in the order given."""
        parts = (None if part is None else part.index_select(0, rows) for part in self)
        return RnnState(*parts)  # type: ignore[arg-type]


class RnnDecoder(Decoder):
    """Attention before the recurrence, and a deep output."""

    def __init__(
        self,
        embedding: Embedding,
        config: ModelConfig,
        *,
        value_size: int,
        final_size: int,
        attends: bool,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.recurrence = Recurrence(config)
        self.bridge = Bridge(final_size, self.recurrence.state_shape)
        self.final_size = final_size
        self.attention = Attention(config.hidden, value_size, config.attention) if attends else None
        context_size = value_size if attends else final_size
        gates, readout = self.recurrence.gate_size, config.readout or config.embedding
        self.token_gates = nn.Linear(config.embedding, gates)
        self.context_gates = nn.Linear(context_size, gates, bias=False)
        self.token_out = nn.Linear(config.embedding, 2 * readout)
        self.state_out = nn.Linear(config.hidden, 2 * readout, bias=False)
        self.context_out = nn.Linear(context_size, 2 * readout, bias=False)
        self.dropout = Dropout(config.dropout)

    def prepare(self, memory: Memory) -> RnnMemory:
        """Keys, first state, and the context if it is fixed."""
        assert memory.final is not None
        final = memory.final[:, -self.final_size :]
        if self.attention is None:
            return RnnMemory(None, self.bridge(final), final)
        return RnnMemory(self.attention.prepare(memory), self.bridge(final), None)

    def start(self, prepared: RnnMemory) -> RnnState:
        """s_0 of every sentence."""
        return RnnState(prepared.start)

    def advance(
        self,
        tokens: Tensor,
        state: RnnState,
        prepared: RnnMemory,
        *,
        want_weights: bool = False,
    ) -> Advanced:
        """Read tokens (R, T) one by one; what does not depend on the state is done at once."""
        embedded = self.dropout(self.embedding(tokens))  # (R, T, E)
        token_gates = self.token_gates(embedded).unbind(1)  # T of (R, G)
        recurrent, states, contexts, weights = state.recurrent, [], [], []
        for gates in token_gates:
            context, step_weights = self.read(recurrent[:, -1, 0], prepared)
            recurrent = self.recurrence(gates + self.context_gates(context), recurrent)
            states.append(recurrent[:, -1, 0])
            contexts.append(context)
            weights.append(step_weights)
        features = self.deep_output(embedded, torch.stack(states, 1), torch.stack(contexts, 1))
        drawn = torch.stack(weights, 1) if want_weights and self.attention is not None else None
        return Advanced(features, RnnState(recurrent), drawn)

    def read(self, query: Tensor, prepared: RnnMemory) -> tuple[Tensor, Tensor]:
        """Context (R, V) and weights (R, S) for queries (R, H); fixed context, no weights."""
        rows = query.shape[0]
        if self.attention is None or prepared.attention is None:
            assert prepared.context is not None
            beam = rows // prepared.context.shape[0]
            return prepared.context.repeat_interleave(beam, 0), query
        return attend(self.attention, query, prepared.attention)

    def deep_output(self, embedded: Tensor, states: Tensor, contexts: Tensor) -> Tensor:
        """Maxout over y, s and c: (R, T, readout)."""
        mixed = (
            self.token_out(embedded) + self.state_out(states) + self.context_out(contexts)
        )  # (R, T, 2 * readout)
        return self.dropout(mixed.unflatten(-1, (-1, 2)).amax(-1))


def attend(attention: Attention, query: Tensor, prepared: Prepared) -> tuple[Tensor, Tensor]:
    """Context (R, V) and weights (R, S): the K hypotheses of a sentence are K questions to it."""
    sentences = prepared.mask.shape[0]
    attended = attention(query.view(sentences, -1, query.shape[-1]), prepared)
    return attended.context.flatten(0, 1), attended.weights.flatten(0, 1)
