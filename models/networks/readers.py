"""Copying of source tokens: pointer and CopyNet, and their readers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from models.core.numerics import Linear
from models.core.types import Looks, Memory, TokenMemory, select
from models.networks.decoder import LOW, Copying, DecoderOutput, JointCopying
from models.text.tokenizer import PAD

GATE_BIAS = -3.0  # initial: 5 % of the probability is copied
SMALLEST = 1e-9  # lower bound of a sum of weights before the division


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
    looks: Looks | None = None  # see Memory


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


class CopyNet(CopyReader):
    """CopyNet: generating a token and copying one of the source share a softmax.

    p(y) = (exp psi_g(y) + sum_(j: x_j = y) exp psi_c(x_j)) / Z,  psi_c(x_j) = tanh(h_j^T W_c) s_t
    Source: Gu, Lu, Li, Li 2016, eq. 4 to 8.
    For every recurrent family with attention and the Transformer, with one vocabulary of source and
    target (tokenizer.joint=true). psi_g are the logits of the output layer, s_t its inputs, h_j the
    memory. Tokens are subwords, so no token is unknown.
    """

    def __init__(self, feature_size: int, value_size: int) -> None:
        super().__init__()
        self.key = Linear(value_size, feature_size, bias=False)  # W_c; no selective read (eq. 9)

    def prepare(self, memory: Memory, embedding: Tensor) -> SourceTokens:
        """Compute the keys tanh(h_j^T W_c) of the source tokens. embedding (Y, D): unused."""
        assert memory.ids is not None
        keys = self.key(memory.values).tanh()
        return SourceTokens(memory.ids, memory.mask, memory.values, keys, memory.looks)

    def forward(
        self,
        advanced: DecoderOutput,
        tokens: Tensor,
        state: None,
        prepared: SourceTokens,
        embedding: Tensor,
    ) -> tuple[Tensor, JointCopying, None]:
        """Return the features (R, T, D), unchanged, and the scores of the source tokens."""
        features, keys = advanced.features, prepared.keys
        assert keys is not None
        by_sentence = features.reshape(keys.shape[0], -1, keys.shape[2]).to(keys.dtype)
        scores = (by_sentence @ keys.mT).float()  # (B, any, S)
        free, looks = prepared.mask.unsqueeze(1), prepared.looks
        if looks is not None and (allowed := looks.allowed()) is not None:
            free = free & allowed  # (B, any, S)
        scores = scores.masked_fill(~free, LOW)
        scores = scores.view(*tokens.shape, -1)  # (R, T, S)
        rows = input_rows(keys, tokens)
        return features, JointCopying(scores, prepared.ids.index_select(0, rows)), None


class Pointer(CopyReader):
    """Pointer-generator: each step generates a token or copies the source token it attends to.

    p(y) = p_gen p_vocabulary(y) + (1 - p_gen) sum_(i: x_i = y) a_i
    Source: See, Liu, Manning 2017, eq. 8 and 9.
    For every recurrent family with attention and the Transformer, with one vocabulary of source and
    target (tokenizer.joint=true). a are the weights that are shown, the mean of the heads; s_t are
    the inputs of the output layer, x_t the row of its matrix of the token that was read. A word
    that training never contained is copied token by token. Weights of a step that sum to less than
    1, as with a null slot, leave the rest to the vocabulary.
    """

    needs_weights = True

    def __init__(self, feature_size: int, value_size: int) -> None:
        super().__init__()
        # p_gen = sigmoid(w_c . c_t + w_s . s_t + w_x . x_t + b); model.attention.coverage is eq. 11
        self.gate = Linear(value_size + 2 * feature_size, 1)  # w_c; w_s; w_x
        nn.init.zeros_(self.gate.weight)
        nn.init.zeros_(self.gate.bias)

    def prepare(self, memory: Memory, embedding: Tensor) -> SourceTokens:
        """Return the source tokens. embedding (Y, D): of the output tokens."""
        assert memory.ids is not None
        return SourceTokens(memory.ids, memory.mask, memory.values)

    def forward(
        self,
        advanced: DecoderOutput,
        tokens: Tensor,
        state: None,
        prepared: SourceTokens,
        embedding: Tensor,
    ) -> tuple[Tensor, Copying, None]:
        """Return the features (R, T, D), unchanged, and the pointer; tokens (R, T) were read."""
        assert advanced.weights is not None
        features, weights = advanced.features, advanced.weights.float()
        sentences, slots, _ = prepared.values.shape
        by_sentence = weights.reshape(sentences, -1, slots).to(prepared.values.dtype)
        context = (by_sentence @ prepared.values).view(*tokens.shape, -1)  # (R, T, V)
        read = embedding[tokens].to(features.dtype)  # (R, T, D)
        inputs = torch.cat([context.to(features.dtype), features, read], -1)
        copies = 1 - self.gate(inputs).squeeze(-1).float().sigmoid()
        total = weights.sum(-1)  # at most 1
        rows = input_rows(prepared.values, tokens)
        shares = weights / total.clamp_min(SMALLEST).unsqueeze(-1)
        return features, Copying(copies * total, shares, prepared.ids.index_select(0, rows)), None
