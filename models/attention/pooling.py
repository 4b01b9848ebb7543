"""Poolings: one vector of a memory, for a classifier."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn

from models.attention.base import Attention
from models.attention.config import SelfAttentiveConfig
from models.attention.multihead import attention, concatenated, read_values
from models.attention.softmax import History
from models.core.config import PoolingConfig
from models.core.numerics import Linear, normal_weights
from models.core.types import AttentionOutput, Memory, select


class Pooling(nn.Module):
    """A memory (B, S, V) to one vector (B, 1, P), with the weight of each slot (B, 1, S)."""

    attends = True  # False if the weights do not come from an attention
    pooled_size: int  # P

    def __init__(self, value_size: int, config: PoolingConfig) -> None:
        super().__init__()
        self.pooled_size = value_size

    def forward(self, memory: Memory) -> AttentionOutput:
        """Return the pooled vector as the context (B, 1, P)."""
        raise NotImplementedError

    def read_values(self, memory: Memory) -> Tensor | None:
        """Return what the weights of each head multiply, (B, H, S, P); None if unknown."""
        return memory.values.unsqueeze(1)


def final_state(memory: Memory) -> Tensor:
    """Return the encoder's final state (B, V), as large as a slot.

    For a recurrent encoder these are the last states of the last layer, [->h_S; <-h_1]. For another
    encoder it is the last slot.
    """
    size = memory.values.shape[-1]
    if memory.final is not None:
        return memory.final[:, -size:]
    rows = torch.arange(memory.mask.shape[0], device=memory.mask.device)
    return memory.values[rows, memory.mask.sum(1) - 1]


class FinalState(Pooling):
    """Final state as the query: the summary of a text selects the words that matter.

    c = Attention([->h_S; <-h_1], h);  with score dot  softmax(H^T [->h_S; <-h_1])
    Source: Zhou, Shi, Tian, Qi, Li, Hao, Xu 2016.
    The query of the paper is learned. Without recurrence, the last slot is the query.
    Every score, window, normaliser, read and number of heads of model.attention can be used.
    """

    def __init__(self, value_size: int, config: PoolingConfig) -> None:
        super().__init__(value_size, config)
        self.attention = attention(value_size, value_size, config.attention)

    def read_values(self, memory: Memory) -> Tensor:
        """Return what the weights of each head multiply, (B, H, S, V)."""
        return read_values(self.attention, memory)

    def forward(self, memory: Memory) -> AttentionOutput:
        """Return the pooled vector as the context (B, 1, V)."""
        query = final_state(memory).unsqueeze(1)  # (B, 1, V)
        return self.attention(query, self.attention.prepare(memory))._replace(history=None)


class LearnedQuery(Pooling):
    """Learned query: attention whose query is a parameter, equal for every text.

    c = Attention(q, h);  with score additive  v^T tanh(W q + U h + b)
    Source: Yang, Yang, Dyer, He, Smola, Hovy 2016, section 2.2.
    Every score, window, normaliser, read and number of heads of model.attention can be used.
    """

    def __init__(self, value_size: int, config: PoolingConfig) -> None:
        super().__init__(value_size, config)
        self.query = normal_weights(1, 1, value_size, deviation=value_size**-0.5)
        self.attention = attention(value_size, value_size, config.attention)

    def read_values(self, memory: Memory) -> Tensor:
        """Return what the weights of each head multiply, (B, H, S, V)."""
        return read_values(self.attention, memory)

    def forward(self, memory: Memory) -> AttentionOutput:
        """Return the pooled vector as the context (B, 1, V)."""
        query = self.query.expand(memory.mask.shape[0], -1, -1)  # (B, 1, V)
        return self.attention(query, self.attention.prepare(memory))._replace(history=None)


class Maximum(Pooling):
    """Maximum: each feature is taken from the slot where it is largest.

    c_v = max_i h_iv
    Source: Collobert, Weston, Bottou, Karlen, Kavukcuoglu, Kuksa 2011, section 3.2.2.
    The weight of a slot is the share of the features that are taken from it.
    Settings of model.attention have no effect.
    """

    attends = False

    def forward(self, memory: Memory) -> AttentionOutput:
        """Return the pooled vector as the context (B, 1, V)."""
        # a padded slot must not be the largest one; features can be negative
        hidden = memory.values.masked_fill(~memory.mask.unsqueeze(-1), -torch.inf)
        largest, slots = hidden.max(1)  # (B, V)
        counts = torch.zeros(memory.mask.shape, device=slots.device)  # (B, S)
        counts.scatter_add_(1, slots, torch.ones_like(slots, dtype=counts.dtype))
        weights = counts / slots.shape[1]
        return AttentionOutput(largest.unsqueeze(1), weights.unsqueeze(1))


class Mean(Pooling):
    """Mean: every slot has the same weight.

    c = 1/S sum_i h_i
    Source: Iyyer, Manjunatha, Boyd-Graber, Daume 2015, section 2.
    Settings of model.attention have no effect.
    """

    attends = False

    def forward(self, memory: Memory) -> AttentionOutput:
        """Return the pooled vector as the context (B, 1, V)."""
        mask = memory.mask.unsqueeze(1).float()  # (B, 1, S)
        weights = mask / mask.sum(2, keepdim=True)
        return AttentionOutput(weights.to(memory.values.dtype) @ memory.values, weights)


class SelfAttentive(Pooling):
    """Self-attentive: several learned queries over a hidden layer of each slot.

    M = [c_1; ..; c_R],  c_r = Attention(q_r, keys tanh(W h), values h);  R = model.attention.heads
    Source: Lin, Feng, dos Santos, Yu, Xiang, Zhou, Bengio 2017, section 2.1.
    With score dot the weights are those of the paper. train.attention.redundancy is the weight of
    its penalty |A A^T - I|^2, which makes the queries read different slots.
    """

    def __init__(self, value_size: int, config: PoolingConfig) -> None:
        super().__init__(value_size, config)
        own = config.attention
        assert isinstance(own, SelfAttentiveConfig)
        count, size = own.heads, own.size or value_size
        self.pooled_size = count * value_size
        # A = softmax(W_2 tanh(W_1 H^T)),  M = A H: eq. 6 and 7 of the paper, whose score is dot
        self.key = Linear(value_size, size, bias=False)  # W_1
        self.queries = normal_weights(1, count, size, deviation=size**-0.5)  # W_2
        self.attention = Attention(size, size, dataclasses.replace(own, heads=1))

    def read_values(self, memory: Memory) -> Tensor:
        """Return what the weights of each query multiply, (B, R, S, R * V)."""
        values = memory.values.unsqueeze(1).expand(-1, self.queries.shape[1], -1, -1)
        return concatenated(values)

    def forward(self, memory: Memory) -> AttentionOutput:
        """Return the pooled vector as the context (B, 1, R * V), and the weights of each query."""
        prepared = self.attention.prepare(memory, self.key(memory.values).tanh())
        queries = self.queries.expand(memory.mask.shape[0], -1, -1)  # (B, R, A)
        past = for_each_query(self.attention.begin(prepared), queries.shape[1])
        found: AttentionOutput = self.attention(queries, prepared, past)
        return AttentionOutput(
            found.context.flatten(1).unsqueeze(1),
            found.weights.mean(1, keepdim=True),
            _total(found.log_prob),
            _total(found.entropy),
            heads=found.weights.unsqueeze(1),
        )


def for_each_query(past: History | None, count: int) -> History | None:
    """Return the history before the first query once for each of several queries, (B * R, ..).

    Each query adds its index to the random number of the sentence, so that samples of hard
    attention are independent.
    """
    if past is None:
        return None
    sentences = past.step.shape[0]
    rows = torch.arange(sentences, device=past.step.device).repeat_interleave(count)
    numbers = torch.arange(count, device=rows.device).repeat(sentences)
    chosen = select(past, rows)
    # equal numbers would make the samples of all queries alike
    return chosen._replace(random=chosen.random + numbers)


def _total(part: Tensor | None) -> Tensor | None:
    """Return the sum over the queries (B, 1) of a part (B, R), if there is one."""
    return None if part is None else part.sum(1, keepdim=True)
