"""Self-attention weights of a Transformer's encoder and decoder, between words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from models.alignment.align import directions
from models.alignment.weights import ALL_HEADS, as_batch, batched, both_units, encode, pooled
from models.attention.transformer import SelfAttention
from models.config import MAX_BATCH_TOKENS
from models.inference.translator import Translator
from models.use_config import AlignConfig


class SelfWeights(NamedTuple):
    """Self-attention of every layer and head for one pair; None where a model has none."""

    source: Tensor | None = None  # (L, H, I, I) of the encoder
    target: Tensor | None = None  # (L, H, J, J) of the decoder: a word reads those before it


@contextmanager
def recorded_weights(module: nn.Module) -> Iterator[list[Tensor]]:
    """Record the weights (B, H, T, T) of each self-attention in a module."""
    found: list[Tensor] = []

    def record(layer: Any, inputs: tuple[Any, ...], output: Any) -> None:
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
