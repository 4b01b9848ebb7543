"""Settings that make no sense are refused in one line, which leads to settings that work."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch

from models.attention.base import Attention
from models.attention.mixing import LinearAttention
from models.attention.multihead import attention
from models.core.attention_config import AttentionConfig, AttentionLossConfig
from models.core.errors import ModelError
from models.core.registry import find, names
from models.core.settings import fields_of, merged
from models.core.sources import columns_of, vocabulary_sizes
from models.core.types import Memory
from models.networks.bundle import build
from models.networks.config import TransformerConfig
from models.networks.losses import AttentionLoss
from models.storage.presets import PRESETS, model_config
from tests.models.mechanisms import FAMILIES, SIZES, TRANSFORMER, hard_model, refused
from tests.models.small import FEATURES, VOCABULARY, changed, small_config

PARTS: dict[str, Sequence[Any]] = {
    **{kind: names(kind) for kind in ("score", "window", "normalise", "read")},
    **dict.fromkeys(("coverage", "null_slot"), (False, True)),
}
LABELS = {"encoder": "mobilenet-edgetpu", "weights": "none", "size": 32, "labels": 3}
SOFT, SPEECH = "show-attend-tell-soft-nano", "listen-attend-spell-nano"
HALVED = {"rate": 8000, "bands": FEATURES, "channels": 4, "halvings": 3}
ONE_TEXT = "read by multi-source, multi-source-transformer"


def of(table: str = "attention", **settings: Any) -> dict[str, Any]:
    """Return settings of a model with a table of attention."""
    return {table: settings}


BUILDS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [  # preset, settings, facts
    *(
        row
        for name in FAMILIES
        for row in (
            (name, of(heads=3), ("3 attention heads", "16")),
            (name, of(heads=0), ("heads = 0", "at least 1")),
            (name, of(window="local_p", window_size=0), ("window_size = 0", "at least 1")),
            (name, of(read="hard", read_decode="best"), ("'best'", "argmax")),
        )
    ),
    (TRANSFORMER, of(heads=2), ("expected model.heads=",)),
    (
        TRANSFORMER,
        {"max_source": 513, **of(score="location")},
        ("at least model.max_source, 513", "max_source=512"),
    ),
    (
        TRANSFORMER,
        {"position": "rotary", **of("self_attention", score="additive")},
        ("rotary", "additive", "scaled_dot", "alibi"),
    ),
    (TRANSFORMER, {"mixing": "linear", "position": "alibi"}, ("alibi", "sinusoidal")),
    (
        TRANSFORMER,
        {"mixing": "linear", **of("self_attention", score="dot")},
        ("its own score", "defaults"),
    ),
    ("classifier-transformer-small", {"mixing": "average"}, ("average", "attention or linear")),
    ("bilstm-attention-nano", {"encoder_layers": 0}, ("at least 1 for a text model",)),
    ("adaptive-nano", {"cell": "gru"}, ("model.cell=lstm",)),
    ("adaptive-nano", of(heads=2), ("model.attention.heads=1",)),
    ("top-down-nano", {"decoder_layers": 1}, ("decoder_layers = 1", "model.decoder_layers=2")),
    (SOFT, {"readout": 8}, ("readout = 8", "embeddings of 16")),
    (SOFT, {"image": {**LABELS, "grid": "stem"}}, ("labels",)),
    (SOFT, {"image": {**LABELS, "encoder": "small-cnn"}}, ("labels",)),
    *([(SPEECH, {"audio": HALVED}, ("halvings=3 of 2",))] if SPEECH in PRESETS else []),
    *(
        (name, {"inputs": ("source", "draft")}, ("model.inputs has no effect", ONE_TEXT))
        for name in (TRANSFORMER, FAMILIES[0], SOFT)
        if "multi-source" in names("family")
    ),
    *(
        (name, {"copy": kind}, ("two vocabularies", "tokenizer.joint=true"))
        if model_config(name).family in ("rnnsearch", "luong", "transformer")
        else (
            name,
            {"copy": kind},
            (f"family {model_config(name).family}", "rnnsearch, luong, transformer"),
        )
        for kind in names("copy")
        for name in {one.model["family"]: name for name, one in PRESETS.items()}.values()
    ),
]


@pytest.mark.parametrize(("preset", "settings", "facts"), BUILDS, ids=range(len(BUILDS)))
def test_a_model_that_cannot_be_is_refused(
    preset: str, settings: dict[str, Any], facts: tuple[str, ...]
) -> None:
    config = small_config(preset)
    sizes = vocabulary_sizes(config.family, VOCABULARY, VOCABULARY, "copy" not in settings)
    refused(lambda: build(merged(config, settings, where="model"), sizes), *facts)


def loss(preset: str, **terms: Any) -> AttentionLoss:
    config = small_config(preset)
    if terms.get("redundancy"):
        config = merged(config, {"pooling": "mean"}) if hasattr(config, "pooling") else config
    return AttentionLoss(AttentionLossConfig(**terms), build(config, SIZES))


MEMORY = Memory(torch.randn(2, 5, 4), torch.ones(2, 5, dtype=torch.bool))
LOCATION = find("score", "location")(3, 4, AttentionConfig.of(score="location"))
PARTS_REFUSED: list[tuple[Callable[[], Any], tuple[str, ...]]] = [
    *(
        (lambda s=score: Attention(3, 4, AttentionConfig.of(score=s)), (f"'{score}'", "general"))
        for score in names("score")
        if find("score", score).needs_equal_sizes
    ),
    *(
        (
            lambda s=score: Attention(4, 4, AttentionConfig.of(score=s)).prepare(
                MEMORY, torch.randn(2, 5, 3)
            ),
            ("keys of size 3", "expected size 4"),
        )
        for score in ("additive", "general", "dot")
    ),
    (
        lambda: attention(8, 8, AttentionConfig.of(heads=4, kv_heads=3)),
        ("4 attention", "kv_heads=1"),
    ),
    (lambda: attention(8, 8, AttentionConfig.of(kv_heads=2)), ("1 attention heads", "kv_heads=1")),
    (
        lambda: LinearAttention(TransformerConfig(embedding=12, heads=5)),
        ("5 attention heads", "model.heads"),
    ),
    (
        lambda: LOCATION.prepare(torch.randn(1, 513, 4)),
        ("513 slots", "at most 512", "positions"),
    ),
    *(
        (lambda i=inputs: columns_of(i), ("model.inputs = ", "two columns or more, texts first"))
        for inputs in (
            *(("source",), ("picture:image", "source"), ("a", "a")),
            *(("source", "b:sound"), ("", "b")),
        )
    ),
    (lambda: loss("seq2seq-nano", coverage="see"), ("without soft attention",)),
    (lambda: loss("seq2seq-nano", coverage="sea"), ("'sea'", "did you mean see")),
    (
        lambda: AttentionLoss(AttentionLossConfig(coverage="see"), hard_model("luong-nano")),
        ("read 'soft'",),
    ),
    *(
        (
            lambda n=name: loss(n, redundancy=1.0),
            ("redundancy=1.0 for family", "a classifier whose pooling"),
        )
        for name in ("rnnsearch-nano", "bilstm-attention-nano")
    ),
]


@pytest.mark.parametrize(("make", "facts"), PARTS_REFUSED, ids=range(len(PARTS_REFUSED)))
def test_a_part_that_cannot_be_is_refused(make: Callable[[], Any], facts: tuple[str, ...]) -> None:
    refused(make, *facts)


def pairs_of_parts() -> Iterator[dict[str, Any]]:
    """Yield each pair of parts of two kinds, beside the default parts."""
    for first, second in itertools.combinations(PARTS, 2):
        for pair in itertools.product(PARTS[first], PARTS[second]):
            yield dict(zip((first, second), pair, strict=True))


@pytest.mark.parametrize(
    ("preset", "table"),
    [
        *((preset, "attention") for preset in (*FAMILIES, TRANSFORMER)),
        (TRANSFORMER, "self_attention"),
        ("adaptive-nano", "attention"),
        ("multi-source-nano", "attention"),
    ],
)
def test_following_the_refusals_of_a_combination_leads_to_one_that_works(
    preset: str, table: str
) -> None:
    config = small_config(preset)
    if preset == "multi-source-nano":
        config = dataclasses.replace(config, inputs=("source", "draft"))
    sizes = vocabulary_sizes(config.family, VOCABULARY, VOCABULARY, True)
    config = changed(config, encoder_layers=1, decoder_layers=1)
    known = fields_of(type(getattr(config, table))).keys()
    for parts in pairs_of_parts():
        built = table == "self_attention" and not parts.keys() <= known
        while not built:
            try:
                build(merged(config, {table: parts}, where="model"), sizes)
                built = True
            except ModelError as error:
                mended = re.match(rf"model\.{table}\.(\w+)=(\w+)", error.expected)
                assert mended, error
                nearest = {"true": True, "false": False}.get(mended[2], mended[2])
                assert parts.get(mended[1]) != nearest
                parts[mended[1]] = nearest
