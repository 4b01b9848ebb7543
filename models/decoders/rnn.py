"""The recurrent decoder that reads the memory before it moves: Bahdanau's, and the plain one.

c_t = Attention(s_{t-1}, memory)         (without attention: the encoder's last state)
s_t = f(s_{t-1}, y_{t-1}, c_t)
p(y_t) = g(y_{t-1}, s_t, c_t)            g: deep output with maxout
Bahdanau, Cho and Bengio 2015, eq. 4 to 6 and A.2.2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from models.attention.base import Attention, History
from models.attention.heads import Heads, HeadsHistory, attention
from models.config import ModelConfig
from models.decoders.base import Decoder, DecoderOutput
from models.decoders.cells import Bridge, Recurrence
from models.deferred import DeferredLinear
from models.dropout import Dropout
from models.errors import ModelError
from models.layers import Embedding
from models.types import AttentionOutput, Memory


class RnnMemory(NamedTuple):
    """What a recurrent decoder needs of a source."""

    attention: Any  # PreparedMemory, or PreparedHeads; None without attention
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
    """The recurrence, and what the next step must know besides."""

    recurrent: Tensor  # (R, L, N, H)
    attentional: Tensor | None = None  # (R, H) the last attentional vector, with input feeding
    history: History | HeadsHistory | None = None  # where the attention asks for it

    def select(self, rows: Tensor) -> RnnState:
        """Some hypotheses, in the order given."""
        return RnnState(
            self.recurrent.index_select(0, rows),
            None if self.attentional is None else self.attentional.index_select(0, rows),
            None if self.history is None else self.history.select(rows),
        )


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
        self.attends, self.final_size = attends, final_size
        self.attention = attention_of(config, value_size) if attends else None
        self.attention_shape = (1, config.attention.heads)
        context_size = value_size if attends else final_size
        gates, readout = self.recurrence.gate_size, config.readout or config.embedding
        self.token_gates = nn.Linear(config.embedding, gates)
        self.context_gates = DeferredLinear(context_size, gates, bias=False)
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
        if self.attention is None:
            return RnnState(prepared.start)
        return RnnState(prepared.start, history=self.attention.begin(prepared.attention))

    def advance(
        self,
        tokens: Tensor,
        state: RnnState,
        prepared: RnnMemory,
        *,
        want_weights: bool = False,
        want_heads: Sequence[int] = (),
    ) -> DecoderOutput:
        """Read tokens (R, T) one by one; what does not depend on the state is done at once."""
        embedded = self.dropout(self.embedding(tokens))  # (R, T, E)
        token_gates = self.token_gates(embedded).unbind(1)  # T of (R, G)
        recurrent, history = state.recurrent, state.history
        states, contexts, readings = [], [], []
        for gates in token_gates:
            query = recurrent[:, -1, 0]  # (R, H)
            if self.attention is None:
                context = fixed_context(prepared, rows=query.shape[0])
            else:
                reading = attend(self.attention, query, prepared.attention, history)
                context, history = reading.context, reading.history
                readings.append(reading)
            recurrent = self.recurrence(gates + self.context_gates(context), recurrent)
            states.append(recurrent[:, -1, 0])
            contexts.append(context)
        features = self.deep_output(embedded, torch.stack(states, 1), torch.stack(contexts, 1))
        return DecoderOutput(
            features,
            RnnState(recurrent, history=history),
            *gathered(readings, want_weights=want_weights),
            heads=heads_of(readings) if want_heads else None,
        )

    def deep_output(self, embedded: Tensor, states: Tensor, contexts: Tensor) -> Tensor:
        """Maxout over y, s and c: (R, T, readout)."""
        mixed = (
            self.token_out(embedded) + self.state_out(states) + self.context_out(contexts)
        )  # (R, T, 2 * readout)
        return self.dropout(mixed.unflatten(-1, (-1, 2)).amax(-1))


def attention_of(config: ModelConfig, value_size: int) -> Attention | Heads:
    """The attention of a recurrent decoder over values of a size."""
    built = attention(config.hidden, value_size, config.attention)
    if built.max_slots is not None and built.max_slots < config.max_source:
        raise ModelError(
            f"score '{config.attention.score}' for {built.max_slots} slots at most",
            f"at least model.max_source, {config.max_source}",
            "raise model.attention.positions or lower model.max_source",
        )
    return built


def fixed_context(prepared: RnnMemory, *, rows: int) -> Tensor:
    """The context (R, V) of a decoder without attention."""
    assert prepared.context is not None
    return prepared.context.repeat_interleave(rows // prepared.context.shape[0], 0)


def attend(attention: nn.Module, query: Tensor, prepared: Any, history: Any) -> AttentionOutput:
    """What queries (R, H) read, in rows: the K hypotheses of a sentence are K questions to it."""
    attended: AttentionOutput = attention(
        query.unflatten(0, (len(prepared.mask), -1)), prepared, history
    )
    return attended.rows()


def gathered(
    readings: list[AttentionOutput], *, want_weights: bool
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Weights (R, T, S) if wanted, log-probability and entropy (R, T) of all steps' readings."""
    if not readings:
        return None, None, None
    _, weights, log_prob, entropy, *_ = zip(*readings, strict=True)
    return (
        torch.stack(weights, 1) if want_weights else None,
        None if log_prob[0] is None else torch.stack(log_prob, 1),
        None if entropy[0] is None else torch.stack(entropy, 1),
    )


def heads_of(readings: list[AttentionOutput]) -> Tensor | None:
    """Every head's weights (R, 1, H, T, S) of all steps' readings."""
    if not readings:
        return None
    each = [r.weights.unsqueeze(1) if r.heads is None else r.heads for r in readings]  # (R, H, S)
    return torch.stack(each, 2).unsqueeze(1)
