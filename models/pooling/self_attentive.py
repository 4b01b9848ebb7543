"""Several learned queries; each reads whole slots, and the contexts are concatenated.

    A = softmax(W_2 tanh(W_1 H^T)),  M = A H                 Lin et al. 2017, eq. 6 and 7

The rows of W_2 are the queries. With score dot this is the equation; other scores compare the
queries with the keys tanh(W_1 h) in their own way.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn

from models.attention.base import Attention, History
from models.attention.heads import concatenated
from models.base.types import AttentionOutput, Memory, select
from models.config import ModelConfig
from models.numerics.linear import Linear
from models.pooling.base import Pooling


class SelfAttentive(Pooling):
    """Self-attentive: several learned queries over a hidden layer of each slot.

    M = [c_1; ..; c_R],  c_r = Attention(q_r, keys tanh(W h), values h);  R = model.attention.heads
    Source: Lin, Feng, dos Santos, Yu, Xiang, Zhou, Bengio 2017, section 2.1.
    Options: heads, size.
    With score dot the weights are those of the paper. train.attention.redundancy is the weight of
    its penalty |A A^T - I|^2, which makes the queries read different slots.
    """

    def __init__(self, value_size: int, config: ModelConfig) -> None:
        super().__init__(value_size, config)
        count, size = config.attention.heads, config.attention.size or value_size
        self.pooled_size = count * value_size
        self.key = Linear(value_size, size, bias=False)  # W_1
        self.queries = nn.Parameter(torch.randn(1, count, size) * size**-0.5)  # W_2
        self.attention = Attention(size, size, dataclasses.replace(config.attention, heads=1))

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
    return chosen._replace(random=chosen.random + numbers)


def _total(part: Tensor | None) -> Tensor | None:
    """Return the sum over the queries (B, 1) of a part (B, R), if there is one."""
    return None if part is None else part.sum(1, keepdim=True)
