"""Recurrent decoders of captions."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from models.attention.base import Attention, is_monotonic, uses_coverage
from models.attention.layers import Embedding
from models.core.attention_config import RECURRENT_SCORE
from models.core.errors import ConfigurationError
from models.core.numerics import Linear
from models.core.registry import find
from models.core.types import Memory
from models.networks.config import AdaptiveConfig, CaptionerConfig, TopDownConfig
from models.networks.recurrent import (
    RecurrentDecoder,
    RecurrentMemory,
    RecurrentState,
    RecurrentStep,
)

LAYERS = 2  # of the top-down decoder: one that attends, one that writes


class ShowAttendTellDecoder(RecurrentDecoder):
    """Attention before the recurrence, a gate on the context, and a deep output.

    h_0, c_0 = f_init,h(mean a), f_init,c(mean a)
    z_t = beta_t Attention(h_{t-1}, a),  beta_t = sigmoid(f_beta(h_{t-1}))     beta_t is one number
    h_t = LSTM(E y_{t-1}, h_{t-1}, z_t)
    p(y_t) = softmax(L_o (E y_{t-1} + L_h h_t + L_z z_t))
    Xu et al. 2015, sections 3.1.2, 4.2.1; f_init are tanh(W a), as in the paper's own program.
    """

    def __init__(self, embedding: Embedding, config: CaptionerConfig, *, value_size: int) -> None:
        if config.readout not in (0, config.embedding):
            raise ConfigurationError(
                f"model.readout = {config.readout} with embeddings of {config.embedding}",
                "equal sizes, because the captioner's deep output adds the two",
                "set model.readout=0",
            )
        # the bridge is f_init,h and f_init,c
        super().__init__(embedding, config, value_size=value_size, final_size=value_size)
        size = config.embedding
        self.gate = Linear(config.hidden, 1)  # f_beta
        self.token_gates = Linear(config.embedding, self.recurrence.gate_size)
        self.context_gates = Linear(value_size, self.recurrence.gate_size, bias=False)
        self.state_out = Linear(config.hidden, size)  # L_h
        self.context_out = Linear(value_size, size, bias=False)  # L_z

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Read with h_{t-1}, weight the context by its gate, then compute h_t."""
        query = state.hidden  # (R, H)
        read = self.read(query, state, prepared)
        factor = self.gate(query).sigmoid()  # (R, 1)
        context = factor.to(read.context.dtype) * read.context
        recurrent = self.recurrence(gates + self.context_gates(context), state.recurrent)
        after = RecurrentState(recurrent, history=read.history)
        return RecurrentStep(after, after.hidden, context, read, factor)

    def features(self, token_part: Tensor, steps: list[RecurrentStep]) -> Tensor:
        """Compute E y + L_h h + L_z z: (R, T, E)."""
        states = torch.stack([step.hidden for step in steps], 1)
        contexts = torch.stack([step.context for step in steps], 1)
        return self.dropout(
            token_part + self.state_out(self.dropout(states)) + self.context_out(contexts)
        )


class TopDownDecoder(RecurrentDecoder):
    """Attention between two recurrent layers; the first reads the last state of the second.

    h1_t = LSTM_1([h2_{t-1}; mean a; E y_{t-1}], h1_{t-1})
    z_t  = Attention(h1_t, a)
    h2_t = LSTM_2([z_t; h1_t], h2_{t-1});  p(y_t) = softmax(W h2_t + b)
    Anderson, He, Buehler, Teney, Johnson, Gould and Zhang 2018, section 3.2, eq. 1 to 7
    """

    def __init__(self, embedding: Embedding, config: TopDownConfig, *, value_size: int) -> None:
        if config.decoder_layers != LAYERS:
            raise ConfigurationError(
                f"model.decoder_layers = {config.decoder_layers} for top-down attention",
                "2 layers: one that attends and one that writes",
                "set model.decoder_layers=2",
            )
        super().__init__(embedding, config, value_size=value_size, final_size=value_size)
        gates = self.recurrence.gate_size
        self.token_gates = Linear(config.embedding, gates)
        self.mean_gates = Linear(value_size, gates, bias=False)
        self.feed_gates = Linear(config.hidden, gates, bias=False)
        self.context_gates = Linear(value_size, gates, bias=False)

    def prepare(self, memory: Memory) -> RecurrentMemory:
        """Compute the keys, the first state, and the part of the gates that the mean cell has."""
        prepared = super().prepare(memory)
        return prepared._replace(context=self.mean_gates(memory.final))

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Compute h1_t, read with it, then compute h2_t."""
        assert prepared.context is not None
        first, second = self.recurrence.cells
        # computed once per image, and equal for all its hypotheses
        own = prepared.context.repeat_interleave(len(gates) // len(prepared.context), 0)  # (R, G)
        gates = gates + own + self.feed_gates(state.hidden)
        attending = first(gates, state.recurrent[:, 0])
        query = attending[:, 0]  # (R, H)
        read = self.read(query, state, prepared)
        [inputs] = self.recurrence.inputs
        gates = inputs(self.recurrence.dropout(query)) + self.context_gates(read.context)
        writing = second(gates, state.recurrent[:, 1])
        after = RecurrentState(torch.stack([attending, writing], 1), history=read.history)
        return RecurrentStep(after, after.hidden, read.context, read)

    def features(self, token_part: Tensor, steps: list[RecurrentStep]) -> Tensor:
        """Return the states h2 (R, T, H)."""
        return self.dropout(torch.stack([step.hidden for step in steps], 1))


class AdaptiveDecoder(RecurrentDecoder):
    """Attention after the recurrence, to cells and to the visual sentinel: the LSTM's memory.

    h_t, m_t = LSTM([E y_{t-1}; g], h_{t-1}, m_{t-1});  v_i = ReLU(W_a a_i),  g = ReLU(W_b mean a)
    s_t = sigmoid(W_x [E y_{t-1}; g] + W_h h_{t-1}) * tanh(m_t)               the visual sentinel
    weights, beta = softmax([F(h_t, v_1), .., F(h_t, v_S), F(h_t, W_s s_t)])
    p(y_t) = softmax(W (sum_i weights_i v_i + beta s_t + h_t))
    Lu, Xiong, Parikh and Socher 2017, eq. 6 to 13
    """

    def __init__(self, embedding: Embedding, config: AdaptiveConfig, *, value_size: int) -> None:
        check_sentinel(config)
        # the sentinel is the null slot with a score and a value of its own
        size, attention = config.hidden, replace(config.attention, null_slot=True)
        with_null = replace(config, attention=attention)
        super().__init__(embedding, with_null, value_size=size, final_size=value_size)
        gates = self.recurrence.gate_size + size  # of the LSTM and of the sentinel
        self.cells = Linear(value_size, size)  # W_a
        self.image = Linear(value_size, config.embedding)  # W_b
        self.token_gates = Linear(config.embedding, gates)
        self.image_gates = Linear(config.embedding, gates, bias=False)
        self.state_gate = Linear(size, size, bias=False)  # W_h
        self.sentinel_key = Linear(size, size, bias=False)  # W_s

    def prepare(self, memory: Memory) -> RecurrentMemory:
        """Compute cells, keys, the first state, and the part of the gates that the image has."""
        prepared = super().prepare(memory._replace(values=self.cells(memory.values).relu()))
        return prepared._replace(context=self.image_gates(self.image(memory.final).relu()))

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Compute h_t and the sentinel, then read cells and sentinel with h_t."""
        assert prepared.context is not None
        image = prepared.context.repeat_interleave(len(gates) // len(prepared.context), 0)
        size = self.sentinel_key.weight.shape[0]
        inner, own = (gates + image).split([self.recurrence.gate_size, size], 1)
        recurrent = self.recurrence(inner, state.recurrent)
        gate = (own + self.state_gate(state.hidden)).float().sigmoid()  # (R, H)
        sentinel = gate * recurrent[:, -1, 1].tanh()
        moved = RecurrentState(recurrent, history=state.history)
        return self._adapted(moved, sentinel, prepared)

    def _adapted(
        self, state: RecurrentState, sentinel: Tensor, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Read cells and sentinel (R, H) with the new state."""
        assert isinstance(self.attention, Attention) and prepared.attention is not None
        query, score = state.hidden, self.attention.score
        key = score.prepare(self.sentinel_key(sentinel).unsqueeze(1))  # (R, 1, K)
        sentences = prepared.attention.mask.shape[0]
        scores = score(query.unsqueeze(1), key).view(sentences, -1, 1)
        queries = query.unflatten(0, (sentences, -1))  # (B, K, H)
        read = self.attention(queries, prepared.attention, state.history, scores).rows()
        # the null slot is removed from the weights, so the rest of 1 is the sentinel's
        share = read.weights.sum(1, keepdim=True)  # (R, 1): 1 - beta
        context = read.context + ((1 - share) * sentinel).to(read.context.dtype)
        after = state._replace(history=read.history)
        return RecurrentStep(after, after.hidden, context, read, share)

    def features(self, embedded: Tensor, steps: list[RecurrentStep]) -> Tensor:
        """Return the sums of context and state (R, T, H)."""
        both = torch.stack([step.context + step.hidden for step in steps], 1)
        return self.dropout(both)


def check_sentinel(config: AdaptiveConfig) -> None:
    """Raise ConfigurationError for a cell or an attention that has no place for the sentinel.

    It is a gate on the memory of an LSTM, and shares one softmax with the cells.
    """
    attention = config.attention
    score = find("score", attention.score or RECURRENT_SCORE)
    by_key = score.uses_keys and not score.sequential
    needed = {
        "model.cell=lstm": config.cell == "lstm",
        "model.attention.heads=1": attention.heads == 1,
        "model.attention.normalise=softmax": not is_monotonic(attention),
        "model.attention.coverage=false": not uses_coverage(attention),
        "model.attention.score=additive, or another of query and key alone": by_key,
    }
    for setting, is_set in needed.items():
        if not is_set:
            raise ConfigurationError("another setting with a visual sentinel", setting)
