"""Readers of tokens that can be copied, which a memory contains; read after each decoder step.

The slots of a `TokenMemory` have log-probabilities of their own, such as those of an image's labels
(You et al. 2016).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from models.base.types import Memory, TokenMemory, select
from models.decoders.base import LOW, Copying, DecoderOutput, JointCopying
from models.numerics import Linear
from models.text.tokenizer import PAD

GATE_BIAS = -3.0  # initial: 5 % of the probability is copied


class CopyReader(nn.Module):
    """The interface of what reads the tokens that a memory contains, after each decoder step."""

    needs_weights = False  # True if it reads the weights of the decoder's attention

    def prepare(self, memory: Memory, embedding: Tensor) -> Any:
        """Compute what depends on the source alone. embedding (Y, D): of the output tokens."""
        raise NotImplementedError

    def start(self, prepared: Any) -> Tensor | None:
        """Return the state before the first token: none."""

    def forward(
        self, advanced: DecoderOutput, tokens: Tensor, state: Any, prepared: Any, embedding: Tensor
    ) -> tuple[Tensor, Copying | JointCopying, Tensor | None]:
        """Return features (R, T, D), what can be copied, and the state after tokens (R, T)."""
        raise NotImplementedError


class SourceTokens(NamedTuple):
    """Source tokens of a memory, as a reader has prepared them."""

    ids: Tensor  # (B, S)
    mask: Tensor  # (B, S)
    values: Tensor  # (B, S, V)
    keys: Tensor | None = None  # (B, S, D), if the reader compares them with its features


class WithReader(NamedTuple):
    """Prepared memories, or states, of a decoder and of the reader of the tokens."""

    decoder: Any
    reader: Any  # None for a reader without state


def input_rows(inputs: Tensor, hypotheses: Tensor) -> Tensor:
    """Return the number of the input of each hypothesis, (R,); inputs (B, ..), hypotheses (R, ..).

    The hypotheses of an input are consecutive.
    """
    rows = torch.arange(len(inputs), device=inputs.device)
    return rows.repeat_interleave(len(hypotheses) // len(rows))


class PreparedTokens(NamedTuple):
    """Keys and values of a token memory."""

    keys: Tensor  # (B, S, D)
    values: Tensor  # (B, S, D)
    memory: TokenMemory


class TokenReader(CopyReader):
    """Attention to token slots after a decoder step, which adds a context and may copy.

    e_ts = q_t . k_s / sqrt(D) + u log p_s + w [y_{t-1} = the token before s in its word],
           -inf for a token that has been written
    f'_t = f_t + V c_t,   g_t = sigmoid(v . [f_t; c_t] + r sum_s a_ts log p_s + b)
    f are the decoder's features; keys and values are maps of the output embedding.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query = Linear(size, size, bias=False)
        self.key = Linear(size, size, bias=False)
        self.key_before = Linear(size, size, bias=False)
        self.value = Linear(size, size, bias=False)
        self.gate = Linear(2 * size, 1)
        self.of_probability = nn.Parameter(torch.tensor([1.0, 0.1]))  # u, r
        self.of_continuation = nn.Parameter(torch.tensor(2.0))  # w
        nn.init.zeros_(self.value.weight)  # a model that gets a reader begins as it was
        nn.init.zeros_(self.gate.weight)
        nn.init.constant_(self.gate.bias, GATE_BIAS)

    def prepare(self, memory: Memory, embedding: Tensor) -> PreparedTokens:
        """Compute keys and values. embedding (Y, D): of the output tokens."""
        slots = memory.tokens
        assert slots is not None
        vectors, before = embedding[slots.ids], embedding[slots.before]  # (B, S, D)
        return PreparedTokens(self.key(vectors) + self.key_before(before), vectors, slots)

    def start(self, prepared: PreparedTokens) -> Tensor:
        """Return the state before the first token: no slot (B, S) is written."""
        return torch.zeros_like(prepared.memory.mask)

    def forward(
        self,
        advanced: DecoderOutput,
        tokens: Tensor,
        written: Tensor,
        prepared: PreparedTokens,
        embedding: Tensor,
    ) -> tuple[Tensor, Copying, Tensor]:
        """Return features (R, T, D) with the context added, the pointer, and the new state.

        tokens (R, T): those that the decoder read. written (R, S): slots whose token was read
        before. The hypotheses of an input, R / B rows, share its memory.
        """
        features = advanced.features
        prepared = select(prepared, input_rows(prepared.keys, features))
        memory = prepared.memory
        read = memory.ids[:, None] == tokens[..., None]  # (R, T, S)
        written = (read.cumsum(1) > 0) | written[:, None]
        log_prob = memory.log_prob[:, None]  # (R, 1, S)
        continues = (memory.before[:, None] == tokens[..., None]) & (memory.before != PAD)[:, None]
        scores = self.query(features) @ prepared.keys.mT / math.sqrt(features.shape[-1])
        scores = scores.float() + self.of_probability[0] * log_prob
        scores = scores + self.of_continuation * continues
        free = memory.mask[:, None] & ~written
        weights = scores.masked_fill(~free, LOW).softmax(-1) * free  # (R, T, S)
        context = weights.to(features.dtype) @ prepared.values
        trust = self.of_probability[1] * (weights * log_prob).sum(-1)
        gate = self.gate(torch.cat([features, context], -1)).squeeze(-1).float() + trust
        copying = Copying(gate.sigmoid() * free.any(-1), weights, memory.ids)
        return features + self.value(context), copying, written[:, -1]
