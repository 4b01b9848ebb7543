"""Reads of a memory by weights: soft and hard."""

from __future__ import annotations

import zlib

import torch
from torch import Tensor

from models.attention.base import Read
from models.attention.config import HardConfig
from models.attention.softmax import History
from models.core.attention_config import AttentionConfig
from models.core.settings import check_limits, limits_of, within
from models.core.types import AttentionOutput

TINY = 1e-38
LOW = 0xFFFFFFFF  # the low 32 bits


class Soft(Read):
    """Soft: the expectation of the values under the weights.

    context = sum_i weights_i value_i
    Source: Bahdanau, Cho, Bengio 2015, eq. 5.
    """

    def forward(self, weights: Tensor, values: Tensor) -> AttentionOutput:
        """Compute the context (B, T, V) from weights (B, T, S) and values (B, S, V)."""
        return AttentionOutput(weights.to(values.dtype) @ values, weights)


class Hard(Read):
    """Hard: one slot; sampled in training, the most probable one otherwise.

    context = value_s, s ~ Categorical(weights)
    Source: Xu et al. 2015, section 4.1.
    The returned weights are the ones used: 1 for the slot, 0 for the others. In training, the
    output includes log-probability and entropy of the sample, from which the score learns by
    REINFORCE, or the gradient is that of the expectation (straight_through, Bengio et al. 2013).
    Half of the sentences or images are then read by expectation, which lowers the variance. The
    weights of REINFORCE and entropy are settings of train.attention. Outside training, a sample
    depends on the seed, the input and the step only, not on the batch or earlier samples.
    """

    needs_history = True
    expected_share = 0.5  # of the sentences or images, in training

    def __init__(self, config: HardConfig, *, seed: int = 1) -> None:
        super().__init__(config)
        check_limits(config, where="model.attention")
        self.config, self.decode = config, decode_of(config)
        self.seed = seed  # of samples outside training

    def begin(self, key: Tensor) -> Tensor:
        """Return a number (B,) per sentence.

        In training it is random and selects expectation or sample; outside training it is the key,
        from which samples are derived.
        """
        return torch.rand_like(key) if self.training else key

    def forward(
        self, weights: Tensor, values: Tensor, history: History | None = None
    ) -> AttentionOutput:
        """Compute the context (B, T, V) from weights (B, T, S) and values (B, S, V)."""
        assert history is not None
        if self.training:
            return self._sampled(weights, values, history.random)
        if self.decode == "expected":
            return self._read(weights, values)
        if self.decode == "argmax":
            return self._read(only(weights.argmax(-1), weights), values)
        place = hashed_uniform(history.step, history.random, self.seed)
        return self._read(only(sampled(weights, place), weights), values)

    def _sampled(self, weights: Tensor, values: Tensor, random: Tensor) -> AttentionOutput:
        # the sample itself has no gradient; log_prob carries it to the score (REINFORCE)
        slots = sampled(weights.detach(), torch.rand_like(random))  # (B, T)
        soft = random.frac() < self.expected_share  # (B, T)
        hard = only(slots, weights)
        if self.config.read_gradient == "straight_through":
            # a zero in the forward pass, whose gradient is that of the weights
            hard = hard + (weights - weights.detach())
            return self._read(torch.where(soft.unsqueeze(-1), weights, hard), values)
        weight, total = weights.gather(-1, slots.unsqueeze(-1)).squeeze(-1), weights.sum(-1)
        real = (weight > 0) & ~soft  # not if every weight is zero
        # 1 in place of 0 before the logarithm: a masked infinity would still give a NaN gradient
        safe = torch.where(real, weight, 1.0), torch.where(real, total, 1.0)
        return self._read(torch.where(soft.unsqueeze(-1), weights, hard), values)._replace(
            log_prob=safe[0].log() - safe[1].log(), entropy=entropy(weights)
        )

    def _read(self, weights: Tensor, values: Tensor) -> AttentionOutput:
        return AttentionOutput(weights.to(values.dtype) @ values, weights)


def decode_of(config: HardConfig) -> str:
    """Return the read mode outside training: argmax, sample or expected."""
    limits = limits_of(HardConfig, "read_decode")
    return within(limits, config.read_decode, "model.attention.read_decode")


def described(config: AttentionConfig) -> str:
    """Return the read mode: "soft", "hard argmax", "hard sample" or "hard expected"."""
    return f"hard {decode_of(config)}" if isinstance(config, HardConfig) else config.read


def sampled(weights: Tensor, place: Tensor) -> Tensor:
    """Sample one slot (B, T) from each row of weights (B, T, S), which may have any sum.

    place (B, T): uniform numbers in [0, 1), at which the cumulative distribution is inverted.
    """
    cumulative = weights.cumsum(-1)
    total = cumulative[..., -1:]
    place = place.unsqueeze(-1) * total
    first = (cumulative > place).int().argmax(-1)
    last = (cumulative < total).sum(-1).clamp_max(weights.shape[-1] - 1)
    # rounding can move the place to the total itself, which no slot exceeds
    return torch.where((place < total).squeeze(-1), first, last)


def hashed_uniform(step: Tensor, key: Tensor, seed: int) -> Tensor:
    """Return a number in [0, 1) per step, a hash of step, key and seed.

    step and key have one shape. The result depends on nothing else, so it is the same in any batch.
    """
    # a hash in place of a generator, whose numbers would depend on the order of the batch
    bits = (step.long() * 0x9E3779B1 + key.long() * 0x85EBCA77) & LOW
    bits = mixed(bits ^ zlib.crc32(str(seed).encode()))
    return (bits >> 8).float() / 2**24  # a float holds 24 bits exactly


def input_key(source: Tensor, mask: Tensor) -> Tensor:
    """Return a hash (B,) of each input, below 2 ** 22, which is the same alone and in any batch.

    source: ids (B, S) or features (B, S, V) with mask (B, S), padding does not count; or images
    (B, 3, h, w).
    """
    # the bits of features, because a cast to whole numbers would make small ones equal
    bits = source.float().view(torch.int32) if source.is_floating_point() else source
    if source.dim() < 4:
        # padding differs from batch to batch, and must not change the key of an input
        bits = bits.masked_fill(~mask.view(*mask.shape, *[1] * (source.dim() - 2)), 0)
    bits = bits.flatten(1).long()
    place = torch.arange(bits.shape[1], device=bits.device)
    # zeros add nothing, so that padding does not change the key
    total = (mixed((bits + place * 0x9E3779B1) & LOW) * (bits != 0)).sum(1)
    # a history holds the key as a float, plus the number of a head: exact below 2 ** 24
    return mixed(total & LOW) >> 10


def mixed(bits: Tensor) -> Tensor:
    """Mix 32-bit numbers by two rounds of multiply and shift: Wellons' lowbias32."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        bits = ((bits ^ (bits >> shift)) * factor) & LOW
    return bits ^ (bits >> 16)


def only(slots: Tensor, weights: Tensor) -> Tensor:
    """Return one-hot weights (B, T, S) at slots (B, T); all zero if every weight is zero."""
    ones = torch.zeros_like(weights).scatter_(-1, slots.unsqueeze(-1), 1.0)
    # argmax of a row of zeros is slot 0, which is padding or outside the window
    return ones * (weights > 0).any(-1, keepdim=True)


def entropy(weights: Tensor) -> Tensor:
    """Return the entropy (B, T) in nats of normalised weights, which may contain zeros."""
    # clamped, because 0 log 0 is NaN in floating point and 0 in the definition
    shares = weights / weights.sum(-1, keepdim=True).clamp_min(TINY)
    return -(shares * shares.clamp_min(TINY).log()).sum(-1)
