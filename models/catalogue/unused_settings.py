"""Settings without effect on a model, so that a description can leave them out. Imports no torch.

A family states in its class body which fields of ModelConfig it reads (`settings = (...)`); a part
of the attention states its options in its docstring; a kind of input states what it never reads.
"""

from __future__ import annotations

from models.base.registry import describe, settings_of
from models.base.settings import fields_of
from models.config.tables import AttentionConfig, ModelConfig
from models.sources import source_of

SHARED = ("family", "embedding", "hidden", "decoder_layers", "dropout", "tied")  # by every family
PARTS = ("score", "window", "normalise", "read")  # of the attention


def unused_settings(config: ModelConfig) -> frozenset[str]:
    """Return the settings and tables without effect, as "model.gate" or "search.max_caption".

    Nothing of a model whose family states no settings is left out.
    """
    stated = settings_of(config.family)
    if not stated:
        return frozenset()
    unused = {f"model.{name}" for name in fields_of(ModelConfig) if name not in SHARED + stated}
    if "attention" in stated:
        used = describe("pooling", config.pooling).options if "pooling" in stated else ()
        unused |= {
            f"model.attention.{name}"
            for name in _unused_in_attention(config.attention)
            if name not in used
        }
    return frozenset(unused | set(source_of(config.family).unused_settings))


def _unused_in_attention(config: AttentionConfig) -> set[str]:
    options = {name for part in PARTS for name in describe(part, getattr(config, part)).options}
    return set(fields_of(AttentionConfig)) - options - {*PARTS, "heads"}
