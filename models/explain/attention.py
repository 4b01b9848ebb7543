"""Attention weights of the step that predicts a token: the mean of the heads of one layer."""

from __future__ import annotations

import torch
from torch import Tensor

from models.explain.subject import Subject, UnsupportedMethodError


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
