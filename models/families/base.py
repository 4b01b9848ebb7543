"""What the families share: vocabulary sizes and the embeddings they lead to."""

from __future__ import annotations

from models.config import ModelConfig
from models.encoders.intra import IntraEncoder
from models.encoders.rnn import RnnEncoder
from models.errors import ConfigurationError
from models.layers import Embedding
from models.types import VocabularySizes


def embeddings(
    config: ModelConfig, sizes: VocabularySizes, *, scale: float = 1.0
) -> tuple[Embedding, Embedding]:
    """Source and target embeddings: one and the same where vocabulary and weights are shared."""
    if config.encoder_layers < 1:
        raise ConfigurationError("model.encoder_layers = 0", "at least 1, to encode a text")
    target = Embedding(sizes.target, config.embedding, scale=scale)
    if sizes.joint and config.tied:
        return target, target
    return Embedding(sizes.source, config.embedding, scale=scale), target


def recurrent_encoder(embedding: Embedding, config: ModelConfig) -> RnnEncoder | IntraEncoder:
    """The configured recurrent encoder, with or without self-attention inside."""
    kinds: dict[str, type[RnnEncoder] | type[IntraEncoder]] = {
        "none": RnnEncoder,
        "intra": IntraEncoder,
    }
    return kinds[config.encoder_attention](embedding, config)
