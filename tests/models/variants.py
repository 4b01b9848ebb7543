"""Variants of the presets with a batch of each: axes, copying, rows of several inputs."""

from __future__ import annotations

import dataclasses
import itertools
from functools import cache
from typing import Any

import torch

from models.core.attention_config import SelfAttentionConfig
from models.core.config import ACTIVATIONS, ModelConfig
from models.core.registry import names
from models.core.sources import vocabulary_sizes
from models.core.types import Batch
from models.networks.encoder_decoder import EncoderDecoder
from tests.models.rows import TEXTS, WITH_IMAGE
from tests.models.rows import batch_of as rows_of
from tests.models.small import (
    VOCABULARY,
    changed,
    hears,
    imaged,
    pairs,
    random_model,
    reads_images,
    small_config,
    sounded,
)

LENGTHS = [4, 7, 2]
PAIRS = pairs(LENGTHS, [5, 3, 6])
ONE = PAIRS.target_in[:, :1]  # one step
LABELLED = PAIRS._replace(target_in=ONE, target_out=ONE, target_mask=PAIRS.target_mask[:, :1])


def batch_of(preset: str, batch: Batch = PAIRS) -> Batch:
    """Return sources and targets of different lengths, as a preset reads them.

    Captioners get fewer cells than their grid has, so that there is padding for them too.
    """
    if hears(preset):
        return sounded(batch)
    return batch._replace(source=imaged(batch.source)) if reads_images(preset) else batch


def variants() -> dict[str, tuple[Any, Batch]]:
    """Return settings with a batch: axes of a Transformer, copying, rows of several inputs."""
    base = small_config("transformer-nano")
    axes: list[dict[str, Any]] = [
        {"norm": "post"},
        {"norm": "post", "embedding_norm": True, "embedding_scale": False, "norm_epsilon": 1e-3},
        {"position_offset": 2},
        {"position": "sinusoidal_2017", "position_offset": 1},
        {"output_transform": True, "activation": "gelu"},
        {"alignment_layer": True},
        *({"activation": name} for name in ACTIVATIONS),
        *({"mixing": name} for name in names("mixing")),
    ]
    for position, score in itertools.product(names("position"), ("", "cosine", "qk_norm")):
        axes.append({"position": position, "self_attention": SelfAttentionConfig(score=score)})
    found = {str(axis): (dataclasses.replace(base, **axis), PAIRS) for axis in axes}
    copied = torch.cat([PAIRS.target_in[:, :3], PAIRS.source[:, :3]], 1)  # half of them
    for preset in ("rnnsearch-nano", "luong-nano", "transformer-nano"):
        config = small_config(preset)
        for kind in names("copy"):
            null = dataclasses.replace(config.attention, null_slot=True)
            copying = dataclasses.replace(config, copy=kind, attention=null)
            found[f"{preset} {kind}"] = copying, PAIRS._replace(target_in=copied)
    several = ("multi-source-nano", "multi-source-transformer-nano")
    for preset, inputs, kind in itertools.product(
        several, (TEXTS, WITH_IMAGE), names("combination")
    ):
        config = dataclasses.replace(small_config(preset), inputs=inputs, combination=kind)
        found[f"{preset} {inputs} {kind}"] = config, rows_of(inputs)
        found[f"{preset} {inputs} {kind} 1"] = changed(config, heads=1), rows_of(inputs)
    return found


VARIANTS = variants()


@cache
def model_of(config: ModelConfig) -> EncoderDecoder:
    """Return a model with random weights. Not to be changed."""
    sizes = vocabulary_sizes(config.family, VOCABULARY, VOCABULARY, True)
    return random_model(config, sizes, noise=0.15)
