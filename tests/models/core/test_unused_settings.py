"""Settings that a description leaves out have no effect on the model."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from models.core.config import AudioConfig, ImageConfig, ModelConfig
from models.core.errors import ModelError
from models.core.registry import names
from models.core.settings import from_dict, limits_of, to_dict
from models.core.sources import unused_settings
from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.storage.presets import PRESETS, model_config
from models.storage.settings import stored_model
from tests.models.small import VOCABULARY, hears, reads_images, small_config

PRESET = {model_config(name).family: name for name in PRESETS}


def built(config: ModelConfig, images: bool) -> dict[str, torch.Tensor]:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        source = 0 if images else VOCABULARY
        return build(config, VocabularySizes(source, VOCABULARY, source > 0)).state_dict()


def reads_no_text(preset: str) -> bool:
    return reads_images(preset) or hears(preset)


def other(kind: type, name: str, value: Any) -> Any:
    """Return another value that the setting accepts."""
    choices = limits_of(kind, name).allowed
    if choices:
        return next(choice for choice in choices if choice != value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, tuple):
        return ("first", "second")
    return value / 2 + 0.1 if isinstance(value, float) else value + 2


TABLES = ("attention", "self_attention", "image", "audio")


@pytest.mark.parametrize("family", names("family"))
def test_a_setting_that_is_left_out_changes_no_model(family: str) -> None:
    config, images = small_config(PRESET[family]), reads_no_text(PRESET[family])
    expected, tried = built(config, images), 0
    for name in sorted(unused_settings(config)):
        section, _, field = name.rpartition(".")
        table = section.removeprefix("model").removeprefix(".")
        if not section.startswith("model") or table in ("image", "audio") or field in TABLES:
            continue
        part = getattr(config, table) if table else config
        kind = type(part)
        changed: Any = dataclasses.replace(
            part, **{field: other(kind, field, getattr(part, field))}
        )
        if table:
            changed = from_dict(ModelConfig, {**to_dict(config), table: to_dict(changed)})
        try:
            found = built(changed, images)
        except ModelError:  # refused, because it would have no effect
            continue
        assert found.keys() == expected.keys(), name
        assert all(torch.equal(found[key], expected[key]) for key in expected), name
        tried += 1
    assert tried


@pytest.mark.parametrize("family", names("family"))
def test_whole_tables_are_left_out_only_where_they_have_no_effect(family: str) -> None:
    config, images = small_config(PRESET[family]), reads_images(PRESET[family])
    unused = unused_settings(config)
    assert ("model.audio" in unused) is not hears(PRESET[family])
    assert ("model.image" in unused) is not (images or family.startswith("multi-source"))
    assert ("model.attention" in unused) is (family == "seq2seq")
    assert ("model.self_attention" in unused) is ("transformer" not in family)
    textless = reads_no_text(PRESET[family])
    if "model.image" in unused:
        plain = dataclasses.replace(config, image=ImageConfig(size=64, dropout=0.5))
        assert built(plain, textless).keys() == built(config, textless).keys()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_bundle_stores_no_defaults_of_other_families(preset: str) -> None:
    config = model_config(preset)
    stored = stored_model(config)
    assert from_dict(ModelConfig, stored) == config
    assert ("audio" in stored) is hears(preset)
    assert ("cell" in stored) is not ("transformer" in config.family)
    other = dataclasses.replace(config, audio=AudioConfig(rate=8001), cell="lstm")
    assert from_dict(ModelConfig, stored_model(other)) == other
