"""Methods of explanation, and self-attention weights between words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from models.alignment.align import directions
from models.alignment.weights import ALL_HEADS, as_batch, batched, both_units, encode, pooled
from models.attention.transformer import SelfAttention
from models.core.config import MAX_BATCH_TOKENS
from models.core.types import Looks, select
from models.core.use_config import AlignConfig
from models.engines.translator import Translator
from models.explain.subject import MAX_SLOTS, Subject, UnsupportedMethodError

STEPS, MAX_STEPS = 32, 2048  # points of the quadrature
MAX_WORK = 1 << 18  # points times words times slots from which on no more points are added
TOLERANCE = 0.01  # share of f(x) - f(b) by which a sum may differ from it
MIN_GAP = 1e-3  # nats; smaller gaps are rounding


class SelfWeights(NamedTuple):
    """Self-attention of every layer and head for one pair; None where a model has none."""

    source: Tensor | None = None  # (L, H, I, I) of the encoder
    target: Tensor | None = None  # (L, H, J, J) of the decoder: a word reads those before it


@contextmanager
def recorded_weights(module: nn.Module) -> Iterator[list[Tensor]]:
    """Record the weights (B, H, T, T) of each self-attention in a module."""
    found: list[Tensor] = []

    def record(layer: Any, inputs: tuple[object, ...], output: object) -> None:
        found.append(layer.read(*inputs, want_weights=True)[0].weights.float())

    with ExitStack() as hooks:
        for part in module.modules():
            if isinstance(part, SelfAttention):
                hooks.enter_context(part.register_forward_hook(record))
        yield found


@torch.inference_mode()
def self_weights(
    translator: Translator, pairs: Sequence[tuple[str, str]], config: AlignConfig
) -> list[SelfWeights]:
    """Return the self-attention for each pair of texts, in the units of an alignment.

    A row of the decoder is the step that predicts a word, as in the alignment with shift 0; a
    column is a word that it reads.
    """
    model = directions(translator, config)[0]
    encoded = [encode(model, *pair) for pair in pairs]
    found = [SelfWeights()] * len(encoded)
    for batch in batched(model, encoded, MAX_BATCH_TOKENS // ALL_HEADS):
        padded = as_batch(model, [encoded[n] for n in batch])
        with (
            recorded_weights(model.model.encoder) as inside,
            recorded_weights(model.model.decoder) as prefix,
        ):
            model.model.teacher_force(padded)
        for row, n in enumerate(batch):
            source, target = both_units(model.tokenizer, encoded[n], config)
            own = stacked(inside, row)
            read = stacked(prefix, row)
            if read is not None:  # position s + 1 of the decoder reads token s
                read = torch.cat([read[..., 1:], torch.zeros_like(read[..., :1])], -1)
            found[n] = SelfWeights(
                None if own is None else pooled(own, source, source).weights,
                None if read is None else pooled(read, target, target).weights,
            )
    return found


def stacked(layers: Sequence[Tensor], row: int) -> Tensor | None:
    """Return the weights (L, H, T, T) of a row of a batch; None without layers of equal sizes."""
    if len({each.shape for each in layers}) != 1:
        return None
    return torch.stack([each[row] for each in layers]).cpu()


@torch.inference_mode()
def attention(subject: Subject) -> Tensor:
    """Return the attention weights (J, I) of the layer that is shown, averaged over its heads.

    Source: Bahdanau, Cho and Bengio 2015. Raises UnsupportedMethodError without attention.
    """
    return subject.by_word(head_weights(subject).mean(0))


def head_weights(subject: Subject) -> Tensor:
    """Return the weights (H, T, S) of the heads of the layer that is shown."""
    decoder = subject.model.decoder
    if not decoder.attends:
        raise UnsupportedMethodError("a model without attention", "a model with attention")
    batch = subject.batch(subject.source)
    heads = subject.model.teacher_force(batch, want_heads=(decoder.shown_layer,)).heads
    assert heads is not None
    return heads[0, 0].float()


@torch.inference_mode()
def weighted_values(subject: Subject) -> Tensor:
    """Return the norms (J, I) of the weighted values of the layer that is shown; a row sums to 1.

    |sum over heads of a^h_ts f^h(x_s)|,  f^h(x) = (x W_V^h + b_V^h) W_O^h
    Source: Kobayashi, Kuribayashi, Yokoi and Inui 2020, eq. 4 and 6. Slots of no unit have a share,
    but no column. Raises UnsupportedMethodError without attention.
    """
    weights = head_weights(subject)  # (H, T, S)
    memory = subject.memory(subject.vectors[None])
    values = subject.model.decoder.read_values(memory)  # (1, H, S, V)
    if values is None:
        raise UnsupportedMethodError("a decoder whose values are unknown", "another method")
    norms = torch.einsum("hts,hsv->tsv", weights, values[0].float()).norm(dim=-1)
    return subject.by_word(norms / norms.sum(1, keepdim=True).clamp_min(1e-12))


@torch.inference_mode()
def rollout(subject: Subject) -> Tensor:
    """Return the attention rollout (J, I); the rest of a row is that of target positions.

    A~_l = 0.5 A_l + 0.5 I,   rollout = A~_L .. A~_1                 eq. 1

    A decoder position reads earlier positions and the memory. Its rollout over the source is R, its
    rollout over target positions is C, and C = I, R = 0 before the first layer. Each layer does

        C <- A~_self C,  R <- A~_self R;   C <- 0.5 C,  R <- 0.5 R + 0.5 A_cross R_encoder

    Source: Abnar and Zuidema 2020. Raises UnsupportedMethodError without self-attention.
    """
    model, batch = subject.model, subject.batch(subject.source)
    depth = sum(isinstance(part, SelfAttention) for part in model.decoder.modules())
    with recorded_weights(model.encoder) as inside, recorded_weights(model.decoder) as prefix:
        heads = model.teacher_force(batch, want_heads=range(depth)).heads
    if not inside and not prefix:
        raise UnsupportedMethodError("a model without self-attention", "a Transformer")
    memory = torch.eye(subject.slots, device=batch.source.device)
    for weights in inside:
        memory = with_residual(weights[0].mean(0)) @ memory
    if heads is None:
        return subject.by_word(head_weights(subject).mean(0) @ memory)
    cross = heads[0].float().mean(1).unbind(0)  # of each layer, (T, S)
    return subject.by_word(decoder_rollout([each[0].mean(0) for each in prefix], cross, memory))


def decoder_rollout(prefix: Sequence[Tensor], cross: Sequence[Tensor], memory: Tensor) -> Tensor:
    """Return R (T, S) after the layers of a decoder.

    prefix: self-attention (T, T) of each layer. cross: cross-attention (T, S) of each layer.
    memory: rollout (S, S) of the encoder.
    """
    found = torch.zeros_like(cross[0])
    for own, other in zip(prefix, cross, strict=True):
        found = (with_residual(own) @ found + other @ memory) / 2
    return found


def with_residual(weights: Tensor) -> Tensor:
    """Return 0.5 A + 0.5 I of weights A (S, S), normalised by row."""
    mixed = (weights + torch.eye(len(weights), device=weights.device)) / 2
    return mixed / mixed.sum(1, keepdim=True)


def erasure(subject: Subject) -> Tensor:
    """Return what each word loses if a word is removed, or a cell blurred, (J, I), in nats.

    r_ji = f_j(x) - f_j(x without unit i)                Li, Monroe and Jurafsky 2016
    """
    every = torch.ones(1, subject.units, dtype=torch.bool)
    found = subject.kept_log_probs(torch.cat([every, ~torch.eye(subject.units).bool()]))
    return (found[:1] - found[1:]).T


@torch.inference_mode()
def look(subject: Subject) -> Tensor:
    """Return the log-probability of each word if it may attend to one unit alone, (J, I), in nats.

    r_ji = f_j(x; the steps of word j attend to unit i alone), minus its mean over the units

    An intervention on the attention, where erasure is one on the input: the encoder still reads
    everything, and the words before attend as they did. Raises UnsupportedMethodError for a model
    that cannot be steered.
    """
    model = subject.model
    if reason := model.why_unsteered:
        raise UnsupportedMethodError(reason, "a model whose attention can be steered")
    units = torch.arange(subject.units, device=subject.owner.device)
    alone = subject.owner[None] == units[:, None]  # (I, S)
    if subject.units == subject.slots:
        alone = torch.eye(subject.units, dtype=torch.bool, device=units.device)
    real = alone.any(1)
    mask = torch.ones(subject.source.shape[:2], dtype=torch.bool, device=units.device)
    memory = model.encode(subject.source, mask)
    rows = []
    for part in alone[real].split(max(1, MAX_SLOTS // subject.slots)):
        slots = torch.stack([torch.ones_like(part), part], 1)  # (N, 2, S)
        some = select(memory, torch.zeros(len(part), dtype=torch.long, device=part.device))
        batch = subject.batch(subject.source.expand(len(part), *subject.source.shape[1:]))
        found = []
        for word in subject.words.long():  # (T,)
            looks = Looks(slots, word.expand(len(part), -1))
            log_probs = model.target_log_probs(batch, some._replace(looks=looks))
            found.append((log_probs * word).sum(1))
        rows.append(torch.stack(found))  # (J, N)
    known = torch.cat(rows, 1)
    total = known.amin(1, keepdim=True).expand(-1, subject.units).clone()
    total[:, real] = known
    return (total - total.mean(1, keepdim=True)).float().cpu()


def gradient_times_input(subject: Subject) -> Tensor:
    """Return the products (J, I) of gradient and input vectors, in nats: first-order effects.

    r_js = x_s . df_j/dx_s                               Shrikumar et al. 2017, section 3.1
    """
    found = directional_gradients(subject, subject.vectors[None], subject.vectors)
    return subject.by_unit(found[0])


def integrated_gradients(subject: Subject, steps: int = 0) -> Tensor:
    """Return the integrated gradients (J, I), in nats, along the line from a baseline to the input.

    r_js = (x_s - b_s) . integral over a from 0 to 1 of df_j/dx_s at b + a (x - b)

    Its sum over all slots is f(x) - f(b) (completeness). Gauss-Legendre quadrature computes the
    integral. Sundararajan, Taly and Yan 2017, eq. 1 and proposition 1

    steps: points of the quadrature; 0: STEPS for each word, doubled up to MAX_STEPS until the
    sum of the word differs from f(x) - f(b) by at most a share of TOLERANCE. MAX_WORK bounds it.
    """
    if steps:
        return subject.by_unit(_integral(subject, subject.words, steps))
    expected = differences(subject)
    found = torch.zeros(len(subject.words), len(subject.vectors), device=expected.device)
    words, steps = torch.arange(len(found), device=expected.device), STEPS
    while len(words) and steps <= MAX_STEPS:
        if steps > STEPS and steps * len(words) * len(subject.vectors) > MAX_WORK:
            break  # the gaps are reported
        found[words] = _integral(subject, subject.words[words], steps)
        gaps = (found[words].sum(1) - expected[words]).abs()
        words = words[gaps > (TOLERANCE * expected[words].abs()).clamp_min(MIN_GAP)]
        steps *= 2
    return subject.by_unit(found)


@torch.no_grad()
def differences(subject: Subject) -> Tensor:
    """Return f(x) - f(b) of each word, (J,), in nats."""
    at_input, at_baseline = subject.log_probs(torch.stack([subject.vectors, subject.baseline]))
    return at_input - at_baseline


def completeness_gaps(subject: Subject, relevances: Tensor) -> Tensor:
    """Return how far the sums of relevances (J, I) are from f(x) - f(b), as shares of it, (J,)."""
    expected = differences(subject).float().cpu()
    return (relevances.sum(1) - expected).abs() / expected.abs().clamp_min(MIN_GAP)


def _integral(subject: Subject, words: Tensor, steps: int) -> Tensor:
    """Return the integrated gradients (W, S) of some words (W, T) by a number of points."""
    device = subject.vectors.device
    nodes, sizes = (torch.tensor(each) for each in np.polynomial.legendre.leggauss(steps))
    shares, sizes = ((nodes + 1) / 2).float().to(device), (sizes / 2).float().to(device)
    way = subject.vectors - subject.baseline
    total = torch.zeros(len(words), len(way), device=device)
    parts = max(1, MAX_SLOTS // len(way))
    for share, size in zip(shares.split(parts), sizes.split(parts), strict=True):
        points = subject.baseline + share[:, None, None] * way
        found = directional_gradients(subject, points, way, words)
        total += torch.einsum("n,njs->js", size, found)
    return total


def directional_gradients(
    subject: Subject, points: Tensor, direction: Tensor, words: Tensor | None = None
) -> Tensor:
    """Return the products (N, J, S) of the gradients of f at points (N, S, E) and a direction.

    direction: (S, E). words: (J, T) of the subject's words; None: all of them. cuDNN is off
    because its recurrent layers have no gradients in evaluation.
    """
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        points = points.detach().requires_grad_()
        log_probs = subject.log_probs(points, words)
        rows = []
        for one in log_probs.unbind(1):
            (gradient,) = torch.autograd.grad(one.sum(), points, retain_graph=True)
            rows.append((gradient * direction).sum(-1))
    return torch.stack(rows, 1)
