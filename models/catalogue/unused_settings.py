"""Settings without effect on a model, so that a description can leave them out. Imports no torch.

A family states in its class body which fields of ModelConfig it reads (`settings = (...)`); a part
of the attention states its options in its docstring; a kind of input states what it never reads.
"""

from __future__ import annotations

from dataclasses import replace

from models.base.registry import describe, names, settings_of
from models.base.settings import fields_of
from models.config import RECURRENT_SCORE, TRANSFORMER_SCORE, AttentionConfig, ModelConfig
from models.sources import source_of

SHARED = (  # by every family
    *("family", "embedding", "vectors", "hidden", "decoder_layers", "dropout", "tied"),
)
PARTS = ("score", "window", "normalise", "read")  # of the attention
EVERY = ("heads", "kv_heads", "null_slot")  # with any parts


def unused_settings(config: ModelConfig) -> frozenset[str]:
    """Return the settings and tables without effect, as "model.copy" or "search.max_caption".

    Nothing of a model whose family states no settings is left out.
    """
    stated = settings_of(config.family)
    if not stated:
        return frozenset()
    unused = {f"model.{name}" for name in fields_of(ModelConfig) if name not in SHARED + stated}
    pools = "pooling" in stated
    if "attention" in stated:
        default = TRANSFORMER_SCORE if "heads" in stated and not pools else RECURRENT_SCORE
        used = describe("pooling", config.pooling).options if pools else ()
        found = _unused_in_attention(config.attention, default) - set(used)
        unused |= {f"model.attention.{name}" for name in found}
    if "self_attention" in stated:
        found = _unused_in_attention(config.self_attention, TRANSFORMER_SCORE)
        unused |= {f"model.self_attention.{name}" for name in found}
    return frozenset(unused | set(source_of(config.family).unused_settings))


def without_effect(setting: str, config: ModelConfig) -> str:
    """Return why a setting such as model.position has no effect on a model; "" if it has one."""
    parts = setting.split(".")
    tables = {".".join(parts[:end]) for end in range(2, len(parts) + 1)}
    if parts[0] != "model" or not tables & unused_settings(config):
        return ""
    read_by = [family for family in names("family") if parts[1] in settings_of(family)]
    if config.family in read_by:  # one of its parts has that option
        return f"{setting} has no effect without the part that reads it (`attn models show NAME`)"
    return f"{setting} has no effect on family {config.family}; it is read by {', '.join(read_by)}"


def _unused_in_attention(config: AttentionConfig, default: str) -> set[str]:
    """Return the unused settings of an attention; default: its score if it names none."""
    named = replace(config, score=config.score or default)
    options = {name for part in PARTS for name in describe(part, getattr(named, part)).options}
    return set(fields_of(AttentionConfig)) - options - {*PARTS, *EVERY}
