"""Attention weights of the step that predicts a token, and the values that they multiply.

attention: the mean of the heads of one layer. values: the length of what each slot adds to the
context, |sum over heads of a^h_ts f^h(x_s)|,  f^h(x) = (x W_V^h + b_V^h) W_O^h
"""

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


@torch.inference_mode()
def weighted_values(subject: Subject) -> Tensor:
    """Return the norms (J, I) of the weighted values of the layer that is shown; a row sums to 1.

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
