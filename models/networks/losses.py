"""Training losses: cross-entropy from features, and loss terms on the attention.

The logits (N, Y) of a batch are the largest tensor in training a small model. Here they are
computed in slices of a few hundred rows, with loss and gradients of a slice while it is in cache.
Memory therefore holds one slice, and each logit is read once instead of four times.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from models.attention.reads import Hard
from models.core.attention_config import AttentionLossConfig
from models.core.errors import ConfigurationError
from models.core.numerics import linear
from models.core.settings import check_limits
from models.core.types import Batch
from models.networks.decoder import DecoderOutput, PoolingDecoder, mixture_loss
from models.networks.encoder_decoder import EncoderDecoder, Output

BASELINE_DECAY = 0.9  # of the REINFORCE baseline, a moving average (Xu et al. 2015, section 4.1)
SMALLEST = 1e-9  # lower bound of a weight before the logarithm
SLICE_ELEMENTS = 2**22  # logits computed at a time: 16 MB in fp32


def sequence_loss(
    forced: DecoderOutput, batch: Batch, output: Output, smoothing: float = 0.0
) -> BatchLoss:
    """Return the loss of a batch after teacher forcing."""
    real = batch.target_mask
    features, target = forced.features[real], batch.target_out[real]  # (N, D), (N,)
    copying = forced.copying
    if copying is None:
        found = token_loss(features, target, output.weight, output.bias, smoothing)
    else:
        logits = linear(features, output.weight, output.bias).float()
        mixture = copying.given(logits, real)
        copied = mixture.of(batch.target_out)[real], mixture.gate[real]
        found = mixture_loss(logits, target, copied, smoothing)
    return BatchLoss(features, *found)


def token_loss(
    features: Tensor, target: Tensor, weight: Tensor, bias: Tensor, smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return the summed smoothed loss, and each token's negative log-likelihood (N,), in nats.

    features (N, D), target (N,), output weight (Y, D), bias (Y,).
    """
    if torch.is_autocast_enabled(features.device.type):
        features = features.to(torch.get_autocast_dtype(features.device.type))
    if not torch.is_grad_enabled():  # an autograd function cannot detect this itself
        features, weight, bias = features.detach(), weight.detach(), bias.detach()
    return SlicedCrossEntropy.apply(features, target, weight, bias, smoothing)  # type: ignore[no-untyped-call]


class BatchLoss(NamedTuple):
    """Loss of a batch of N target tokens."""

    features: Tensor  # (N, D) that the logits are computed from
    loss: Tensor  # smoothed, summed
    nll: Tensor  # (N,) negative log-likelihood of each token, without smoothing


class SlicedCrossEntropy(torch.autograd.Function):
    """Fused linear layer, log-softmax and smoothed cross-entropy, slice by slice.

    loss = -(1 - eps) log p(y) - eps/Y sum_k log p(k)      Szegedy et al. 2016, section 7
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, target: Tensor, weight: Tensor, bias: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """Return the summed loss and each token's; compute the gradients from the same logits."""
        matrix = weight.to(features.dtype)
        of_features = torch.empty_like(features)
        # float32, because sums over hundreds of slices lose digits in bf16
        of_weight = torch.zeros_like(weight, dtype=torch.float32)
        of_bias = of_weight.new_zeros(len(weight))
        loss = features.new_zeros((), dtype=torch.float32)
        nll = loss.new_empty(features.shape[0])
        rows = max(1, SLICE_ELEMENTS // weight.shape[0])
        for start in range(0, features.shape[0], rows):
            part, labels = features[start : start + rows], target[start : start + rows]
            logits = nn.functional.linear(part, matrix).float().add_(bias)  # (n, Y)
            picked = logits.gather(1, labels[:, None]).squeeze(1)
            mean, peak = logits.mean(1), logits.amax(1)
            probabilities = logits.softmax(1)
            # from the softmax that the gradient needs anyway, without a second pass over the logits
            log_total = peak - probabilities.amax(1).log()  # largest probability: exp(peak) / total
            nll[start : start + rows] = log_total - picked
            loss += (log_total - (1 - smoothing) * picked - smoothing * mean).sum()
            if any(ctx.needs_input_grad):
                probabilities.sub_(smoothing / weight.shape[0])
                places = torch.arange(len(labels), device=labels.device)
                probabilities[places, labels] -= 1 - smoothing
                of_bias += probabilities.sum(0)
                grad = probabilities.to(part.dtype)
                of_features[start : start + rows] = grad @ matrix
                # addmm_ needs equal types; in bf16 the product is added to the float32 sum
                if part.dtype == torch.float32:
                    of_weight.addmm_(grad.mT, part)
                else:
                    of_weight += grad.mT @ part
        ctx.grads = of_features, of_weight, of_bias
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, Tensor, Tensor, None]:
        """Return the stored gradients, scaled by that of the loss."""
        features, weight, bias = (part * grads[0] for part in ctx.grads)
        return features, None, weight, bias, None


class AttentionLoss:
    """Loss terms on the attention of a batch: penalties, regions and REINFORCE."""

    def __init__(self, config: AttentionLossConfig, model: EncoderDecoder) -> None:
        self.config = config
        self.wants_weights = any(soft_terms(config).values())
        self.want_heads = (0,) if config.redundancy else ()  # layers whose heads have a loss term
        check_limits(config, where="train.attention")
        if config.redundancy and not (
            isinstance(model.decoder, PoolingDecoder) and model.decoder.attends
        ):
            raise ConfigurationError(
                f"train.attention.redundancy={config.redundancy} for family {model.config.family}",
                "a classifier whose pooling has attention",
                "set train.attention.redundancy=0",
            )
        used = ", ".join(f"train.attention.{name}" for name, on in soft_terms(config).items() if on)
        is_hard = any(isinstance(part, Hard) for part in model.modules())
        # one-hot weights have no gradient, so such a penalty would do nothing in silence
        if used and (is_hard or not model.decoder.attends):
            raise ConfigurationError(
                f"{used} for a model without soft attention",
                "a family with attention, and read 'soft', whose weights have a gradient",
                f"leave out {used}",
            )

    def __call__(
        self, forced: DecoderOutput, batch: Batch, nll: Tensor, baseline: float | None
    ) -> tuple[Tensor | float, float | None]:
        """Return the loss terms, summed over a batch, and the next baseline.

        nll (N,) of the batch's real target tokens; baseline: the mean log-likelihood of a token
        in earlier batches, None in the first.
        """
        terms: Tensor | float = 0.0
        if self.wants_weights and forced.weights is not None:
            terms = self.on_weights(forced.weights, batch)
        if forced.heads is not None and self.config.redundancy:
            terms = terms + self.config.redundancy * redundancy(forced.heads[:, 0, :, 0])
        if forced.log_prob is None or forced.entropy is None:
            return terms, baseline
        mean = -float(nll.mean())
        known = mean if baseline is None else baseline
        rewards = torch.zeros_like(forced.log_prob)
        rewards[batch.target_mask] = -nll.to(rewards.dtype)
        gain = reinforce(forced.log_prob, rewards, batch.target_mask, baseline=known)
        spread = (forced.entropy * batch.target_mask).sum()
        terms = terms - self.config.reinforce * gain - self.config.entropy * spread
        return terms, self.next_baseline(mean, known)

    def on_weights(self, weights: Tensor, batch: Batch) -> Tensor | float:
        """Return the penalties on weights (B, T, S), summed over a batch."""
        terms: Tensor | float = 0.0
        if (kind := self.config.coverage) != "none":
            cells = weights.shape[-1] - batch.slots.shape[1]  # of an image, after texts of a row
            slots = nn.functional.pad(batch.slots, (0, cells), value=True)
            penalty = coverage_penalty(weights, slots, batch.target_mask, kind=kind)
            terms = self.config.coverage_weight * penalty
        if self.config.peaked:
            terms = terms + self.config.peaked * (entropy(weights) * batch.target_mask).sum()
        if batch.regions is not None:
            terms = terms + self.config.regions * region_loss(weights, batch.regions)
        return terms

    def next_baseline(self, mean: float, baseline: float | None) -> float:
        """Return the baseline after a batch whose mean log-likelihood of a token is given."""
        known = mean if baseline is None else baseline
        return BASELINE_DECAY * known + (1 - BASELINE_DECAY) * mean


def soft_terms(config: AttentionLossConfig) -> dict[str, bool]:
    """Return the names of the terms that need soft weights, and whether they are used."""
    return {
        "coverage": config.coverage != "none",
        "peaked": config.peaked > 0,
        "regions": config.regions > 0,
    }


def region_loss(weights: Tensor, regions: Tensor) -> Tensor:
    """Return the cross-entropy in nats of weights (B, T, S) from target weights, summed.

    -sum_t sum_i regions_ti log weights_ti                 Liu et al. 2017, eq. 8

    A step whose row of `regions` (B, T, S) is 0 adds nothing.
    """
    return -(regions * weights.float().clamp_min(SMALLEST).log()).sum()


def redundancy(weights: Tensor) -> Tensor:
    """Return the penalty on similar heads of weights A (B, H, S), summed over a batch.

    |A A^T - I|^2, the squared Frobenius norm                 Lin et al. 2017, eq. 8
    """
    products = weights.float() @ weights.float().mT  # (B, H, H)
    return (products - torch.eye(products.shape[1], device=products.device)).square().sum()


def reinforce(log_prob: Tensor, rewards: Tensor, mask: Tensor, *, baseline: float) -> Tensor:
    """Return a scalar whose gradient estimates that of the expected likelihood.

    sum_t (sum_{u>=t} (log p(y_u) - b)) log p(s_t)         Xu et al. 2015, section 4.1

    log_prob (B, T) of the sampled slots; rewards (B, T), the target's log-likelihoods; mask (B, T)
    of the real steps. The reward of a sample is the sum from its own step on: earlier steps do not
    depend on the sample, so their likelihoods would only add noise.
    """
    above = ((rewards - baseline) * mask).detach()
    # from its own step on: earlier likelihoods do not depend on the sample and would only add noise
    to_go = above.flip(1).cumsum(1).flip(1)  # (B, T)
    return (to_go * log_prob * mask).sum()


def entropy(weights: Tensor) -> Tensor:
    """Return the entropy (..., ) in nats of weights (..., S) that sum to 1."""
    weights = weights.float()
    return -(weights * weights.clamp_min(SMALLEST).log()).sum(-1)


def coverage_penalty(
    weights: Tensor, source_mask: Tensor, target_mask: Tensor, *, kind: str
) -> Tensor:
    """Return the coverage penalty of weights (B, T, S), summed over a batch.

    see:                sum_t sum_i min(weights_ti, sum_{u<t} weights_ui)    See et al. 2017, eq. 12
    doubly_stochastic:  sum_i (1 - sum_t weights_ti)^2                       Xu et al. 2015, eq. 14
    """
    real = weights * target_mask.unsqueeze(-1)
    if kind == "see":
        return torch.minimum(real, real.cumsum(1) - real).sum()
    return ((1 - real.sum(1)) * source_mask).square().sum()


def divergence(first: Tensor, second: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return (KL(p_1 || p_2) + KL(p_2 || p_1)) / 2, summed over N tokens, in nats, for R-Drop.

    Two passes with different dropout should give the same distribution:

        L = 1/2 (-log p_1(y) - log p_2(y)) + alpha/2 (KL(p_1 || p_2) + KL(p_2 || p_1)) / 2
                                                              Wu et al. 2021, eq. 3, halved

    Halved, so that the loss is comparable with that of one pass. The logits (n, Y) of a slice of
    tokens are computed again in the backward pass instead of being stored.

    first, second (N, D): features of two passes; output weight (Y, D) and bias (Y,).
    """
    rows = max(1, SLICE_ELEMENTS // len(weight))
    total = first.new_zeros((), dtype=torch.float32)
    for start in range(0, len(first), rows):
        parts = first[start : start + rows], second[start : start + rows]
        total = total + checkpoint(
            _slice, *parts, weight, bias, use_reentrant=False, preserve_rng_state=False
        )
    return total


def _slice(first: Tensor, second: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the divergence of a few tokens.

    sum p_1 (log p_1 - log p_2) + sum p_2 (log p_2 - log p_1) = sum (p_1 - p_2)(log p_1 - log p_2)
    """
    logits = (linear(part, weight, bias).float() for part in (first, second))  # (n, Y)
    one, two = (part.log_softmax(-1) for part in logits)
    return ((one.exp() - two.exp()) * (one - two)).sum() / 2
