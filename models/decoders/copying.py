"""Copying of tokens that a memory contains: a pointer network mixed with the vocabulary.

p(y) = (1 - g) p_vocabulary(y) + g sum_{s: token_s = y} a_s        See et al. 2017, eq. 8 and 9

a is attention to slots that are tokens, g a gate between 0 and 1. Here the slots have
log-probabilities of their own, such as those of an image's labels (You et al. 2016).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from models.base.types import Memory, TokenMemory, selected
from models.decoders.base import DecoderOutput
from models.numerics.linear import Linear
from models.text.tokenizer import PAD

NEVER = 1e-30  # lower bound of a probability before the logarithm
LOW = -1e9  # score of a slot that has no weight
GATE_BIAS = -3.0  # initial: 5 % of the probability is copied


class Copying(NamedTuple):
    """Gate and attention of a pointer to token slots."""

    gate: Tensor  # (R, T) between 0 and 1
    weights: Tensor  # (R, T, S)
    ids: Tensor  # (R, S) tokens of the slots

    def given(self, logits: Tensor, real: Tensor | None = None) -> Copying:
        """Return this object, because its gate does not depend on the vocabulary's logits."""
        return self

    def of(self, target: Tensor) -> Tensor:
        """Return the probability (R, T), gate included, that target tokens (R, T) are copied."""
        same = self.ids[:, None] == target[:, :, None]  # (R, T, S)
        return self.gate * (self.weights * same).sum(-1)

    def mixed(self, logits: Tensor) -> Tensor:
        """Return log-probabilities (R, T, Y) of the mixture, given the vocabulary's logits."""
        probabilities = (1 - self.gate).unsqueeze(-1) * logits.softmax(-1)
        copied = self.gate.unsqueeze(-1) * self.weights  # (R, T, S)
        places = self.ids[:, None].expand_as(copied)
        return probabilities.scatter_add(-1, places, copied).clamp_min(NEVER).log()


class JointCopying(NamedTuple):
    """Scores of token slots that share one softmax with the logits of the vocabulary."""

    scores: Tensor  # (R, T, S)
    ids: Tensor  # (R, S) tokens of the slots

    def given(self, logits: Tensor, real: Tensor | None = None) -> Copying:
        """Return the gate and the weights that follow from the vocabulary's logits.

        logits: (R, T, Y), or (N, Y) of the N steps that are True in real (R, T).
        """
        total = logits.logsumexp(-1)
        if real is not None:
            total = total.new_zeros(real.shape).masked_scatter(real, total)
        gate = (self.scores.logsumexp(-1) - total).sigmoid()
        return Copying(gate, self.scores.softmax(-1), self.ids)

    def mixed(self, logits: Tensor) -> Tensor:
        """Return log-probabilities (R, T, Y), given the vocabulary's logits."""
        return self.given(logits).mixed(logits)


def input_rows(inputs: Tensor, hypotheses: Tensor) -> Tensor:
    """Return the number of the input of each hypothesis, (R,); inputs (B, ..), hypotheses (R, ..).

    The hypotheses of an input are consecutive.
    """
    rows = torch.arange(len(inputs), device=inputs.device)
    return rows.repeat_interleave(len(hypotheses) // len(rows))


def joined_copies(steps: Sequence[Copying | JointCopying]) -> Copying | JointCopying:
    """Return the copying of consecutive tokens, (R, T), from that of each, (R, 1)."""
    first = steps[0]
    names = [name for name in first._fields if name != "ids"]
    parts = {name: torch.cat([getattr(step, name) for step in steps], 1) for name in names}
    return first._replace(**parts)


class CopyReader(nn.Module):
    """The interface of what reads the tokens that a memory contains, after each decoder step."""

    needs_weights = False  # True if it reads the weights of the decoder's attention
    feeds_back = False  # True if `selected` is an input of the decoder's next step

    def prepare(self, memory: Memory, embedding: Tensor) -> Any:
        """Compute what depends on the source alone. embedding (Y, D): of the output tokens."""
        raise NotImplementedError

    def start(self, prepared: Any) -> Tensor | None:
        """Return the state before the first token: none."""

    def selected(self, token: Tensor, state: Tensor, prepared: Any) -> Tensor:
        """Return the input (R, V) of the step that reads a token (R, 1), from the last state."""
        raise NotImplementedError

    def forward(
        self, advanced: DecoderOutput, tokens: Tensor, state: Any, prepared: Any, embedding: Tensor
    ) -> tuple[Tensor, Copying | JointCopying, Tensor | None]:
        """Return features (R, T, D), what can be copied, and the state after tokens (R, T)."""
        raise NotImplementedError


class PreparedTokens(NamedTuple):
    """Keys and values of a token memory."""

    keys: Tensor  # (B, S, D)
    values: Tensor  # (B, S, D)
    memory: TokenMemory

    def select(self, rows: Tensor) -> PreparedTokens:
        """Return those of some inputs."""
        return PreparedTokens(*selected(self, rows))


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
        prepared = prepared.select(input_rows(prepared.keys, features))
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


class WithState(NamedTuple):
    """States of a decoder and of the reader of a token memory."""

    decoder: Any
    reader: Tensor | None  # (R, S); None for a reader without state

    def select(self, rows: Tensor) -> WithState:
        """Return those of some hypotheses."""
        return WithState(*selected(self, rows))


class WithTokens(NamedTuple):
    """Prepared memory of a decoder, and of the token memory that is read beside it."""

    decoder: Any
    tokens: Any  # as a CopyReader has prepared them

    def select(self, rows: Tensor) -> WithTokens:
        """Return those of some inputs."""
        return WithTokens(self.decoder.select(rows), self.tokens.select(rows))


def mixture_loss(
    logits: Tensor, target: Tensor, copied: tuple[Tensor, Tensor], smoothing: float
) -> tuple[Tensor, Tensor]:
    """Return the smoothed loss, summed, and the negative log-likelihood (N,) of N tokens.

    logits (N, Y) of the vocabulary, target (N,). copied: `Copying.of` the target and the gate, (N,)
    each. The vocabulary's distribution alone is smoothed.
    """
    log_probs = logits.log_softmax(-1)
    own = log_probs.gather(1, target[:, None]).squeeze(1)
    share, gate = copied
    nll = -torch.logaddexp((1 - gate).clamp_min(NEVER).log() + own, share.clamp_min(NEVER).log())
    return ((1 - smoothing) * nll - smoothing * log_probs.mean(1)).sum(), nll.detach()
