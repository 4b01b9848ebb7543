"""Attention rollout: attention multiplied through the layers, residual connections included.

    A~_l = 0.5 A_l + 0.5 I,   rollout = A~_L .. A~_1                 Abnar and Zuidema 2020, eq. 1

A decoder position reads earlier positions and the memory. Its rollout over the source is R, its
rollout over target positions is C, and C = I, R = 0 before the first layer. Each layer does

    C <- A~_self C,  R <- A~_self R;   C <- 0.5 C,  R <- 0.5 R + 0.5 A_cross R_encoder
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from models.attention.transformer import SelfAttention
from models.explain.attention import head_weights
from models.explain.subject import Subject, UnsupportedMethodError


@torch.inference_mode()
def rollout(subject: Subject) -> Tensor:
    """Return the attention rollout (J, I); the rest of a row is that of target positions.

    Source: Abnar and Zuidema 2020. Raises UnsupportedMethodError without self-attention.
    """
    model, batch = subject.model, subject.batch(subject.source)
    depth = sum(isinstance(part, SelfAttention) for part in model.decoder.modules())
    with recorded_weights(model.encoder) as inside, recorded_weights(model.decoder) as prefix:
        heads = model.teacher_force(batch, want_heads=range(depth)).heads
    if not inside and not prefix:
        raise UnsupportedMethodError("a model without self-attention", "a Transformer")
    memory = torch.eye(batch.source.shape[1], device=batch.source.device)
    for weights in inside:
        memory = with_residual(weights[0]) @ memory
    if heads is None:
        return subject.by_word(head_weights(subject).mean(0) @ memory)
    cross = heads[0].float().mean(1).unbind(0)  # of each layer, (T, S)
    return subject.by_word(decoder_rollout([each[0] for each in prefix], cross, memory))


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


@contextmanager
def recorded_weights(module: nn.Module) -> Iterator[list[Tensor]]:
    """Record the weights (B, T, T) of each self-attention in a module, the mean of its heads."""
    found: list[Tensor] = []

    def record(layer: Any, inputs: tuple[Any, ...], output: Any) -> None:
        found.append(layer.read(*inputs, want_weights=True)[0].weights.float().mean(1))

    with ExitStack() as hooks:
        for part in module.modules():
            if isinstance(part, SelfAttention):
                hooks.enter_context(part.register_forward_hook(record))
        yield found
