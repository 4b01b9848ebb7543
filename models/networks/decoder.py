"""What all decoders share, and the decoder of one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from models.attention.pooling import Pooling
from models.core.config import PoolingConfig
from models.core.registry import find
from models.core.types import AttentionOutput, Memory, select

NEVER = 1e-30  # lower bound of a probability before the logarithm
LOW = -1e9  # score of a slot that has no weight
P = TypeVar("P")  # prepared memory: a tuple of tensors, or of such tuples
S = TypeVar("S")  # state, of the same kind


class Copying(NamedTuple):
    """Gate and attention of a pointer to token slots, whose tokens mix with the vocabulary.

    p(y) = (1 - g) p_vocabulary(y) + g sum_{s: token_s = y} a_s        See et al. 2017, eq. 8 and 9
    """

    gate: Tensor  # g (R, T) between 0 and 1
    weights: Tensor  # a (R, T, S)
    ids: Tensor  # (R, S) tokens of the slots

    def given(self, logits: Tensor, real: Tensor | None = None) -> Copying:
        """Return this object, because its gate does not depend on the vocabulary's logits."""
        return self

    def of(self, target: Tensor) -> Tensor:
        """Return the probability (R, T), gate included, that target tokens (R, T) are copied."""
        same = self.ids[:, None] == target[:, :, None]  # (R, T, S)
        # a token can be in several slots, whose shares add up
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


class Wanted(NamedTuple):
    """What a decoder returns besides features and state."""

    weights: bool = False  # those of the shown layer, averaged over its heads
    heads: Sequence[int] = ()  # layers, counted from 0, whose heads' weights are returned


NOTHING = Wanted()


class DecoderOutput(NamedTuple):
    """Results of reading some target tokens."""

    features: Tensor  # (R, T, D): the output layer's input
    state: Any  # after the last token
    weights: Tensor | None = None  # (R, T, S) attention weights, if wanted and there are any
    log_prob: Tensor | None = None  # (R, T) of the sampled slots, in training of hard attention
    entropy: Tensor | None = None  # (R, T) of the distributions they were sampled from
    gates: Tensor | None = None  # (R, T) factors on the contexts, if wanted and there are any
    heads: Tensor | None = None  # (R, L, H, T, S) every head's weights in the wanted layers
    copying: Copying | JointCopying | None = None  # if the memory contains tokens


class Decoder(nn.Module, Generic[P, S]):
    """Map from target prefix and memory to features; the output layer predicts tokens from them."""

    attends = True  # False if there are no attention weights
    looks = True  # False if no look of a person can steer its attention
    attention_shape = (1, 1)  # layers that attend to the memory, and heads of each

    def prepare(self, memory: Memory) -> P:
        """Compute what depends on the source alone."""
        raise NotImplementedError

    def start(self, prepared: P) -> S:
        """Return the state before the first token."""
        raise NotImplementedError

    def read_values(self, memory: Memory) -> Tensor | None:
        """Return what the weights of each head in the shown layer multiply, (B, H, S, V).

        None if this is unknown.
        """
        return None

    def up_to(self, layer: int) -> Decoder[P, S]:
        """Return a decoder that computes no layer above one, counted from 0, if that is possible.

        It has the same weights, and its features are of no use.
        """
        return self

    @property
    def shown_layer(self) -> int:
        """The layer, counted from 0, whose weights are shown if none is chosen by number."""
        return default_layer(self.attention_shape[0])

    def advance(
        self, tokens: Tensor, state: S, prepared: P, wanted: Wanted = NOTHING
    ) -> DecoderOutput:
        """Read tokens (R, T)."""
        raise NotImplementedError


def default_layer(layers: int) -> int:
    """Return the layer, counted from 0, that is shown if there are this many.

    It is the second to last of three or more layers, where alignment is best without tuning (Garg
    et al. 2019), and the last of two, because the first attends before it has any context.
    """
    return layers - 2 if layers > 2 else layers - 1


def shifted(weights: Tensor, shift: int) -> Tensor:
    """Return weights (.., T, S) by the step that reads each token; no step reads the end mark."""
    return torch.cat([weights[..., 1:, :], weights[..., :1, :] * 0], -2) if shift else weights


class PoolingDecoder(Decoder[AttentionOutput, Tensor]):
    """Memory to the features of one label, by one step. Target tokens are not read.

    The state (R,) is the sentence of each row, because the label depends on nothing else.
    """

    looks = False

    def __init__(self, value_size: int, config: PoolingConfig) -> None:
        super().__init__()
        self.pooling: Pooling = find("pooling", config.pooling)(value_size, config)
        self.dropout = nn.Dropout(config.dropout)
        self.attends = self.pooling.attends
        self.attention_shape = (1, config.attention.heads if self.attends else 1)

    def prepare(self, memory: Memory) -> AttentionOutput:
        """Pool the memory of each sentence."""
        return self.pooling(memory)

    def read_values(self, memory: Memory) -> Tensor | None:
        """Return the values that the pooling weighs, (B, H, S, V); see Decoder."""
        return self.pooling.read_values(memory)

    def start(self, prepared: AttentionOutput) -> Tensor:
        """Return a row for each sentence."""
        context = prepared.context
        return torch.arange(context.shape[0], device=context.device)

    def advance(
        self, tokens: Tensor, state: Tensor, prepared: AttentionOutput, wanted: Wanted = NOTHING
    ) -> DecoderOutput:
        """Return the same features for each of the tokens (R, T); see Decoder."""
        steps = tokens.shape[1]
        context, weights, log_prob, entropy, _, heads, _ = select(prepared, state)
        each = weights.unsqueeze(2) if heads is None else heads  # (R, 1, H, S)
        return DecoderOutput(
            self.dropout(context).expand(-1, steps, -1),
            state,
            weights.expand(-1, steps, -1) if wanted.weights else None,
            log_prob=None if log_prob is None else log_prob.expand(-1, steps),
            entropy=None if entropy is None else entropy.expand(-1, steps),
            gates=None,
            heads=each.transpose(1, 2).unsqueeze(1).expand(-1, -1, -1, steps, -1)
            if wanted.heads
            else None,
        )
