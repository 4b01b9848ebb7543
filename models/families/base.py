"""What the families share: vocabulary sizes and the embeddings they lead to."""

from __future__ import annotations

from typing import NamedTuple

from models.config import ModelConfig
from models.layers import Embedding


class VocabularySizes(NamedTuple):
    """Pieces of the source and of the target; the same pieces where the vocabulary is joint."""

    source: int
    target: int
    joint: bool


def embeddings(
    config: ModelConfig, sizes: VocabularySizes, *, scale: float = 1.0
) -> tuple[Embedding, Embedding]:
    """Source and target embeddings: one and the same where vocabulary and weights are shared."""
    target = Embedding(sizes.target, config.embedding, scale=scale)
    if sizes.joint and config.tied:
        return target, target
    return Embedding(sizes.source, config.embedding, scale=scale), target
