"""A family, a part of an attention and an image network have the settings that they read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from models.core.annexes import entries
from models.core.attention_config import AttentionConfig
from models.core.config import ModelConfig, every_setting, family_config
from models.core.errors import ModelError
from models.core.registry import TABLES, config_of, names
from models.core.settings import fields_of, from_dict, merged, overridden, to_dict
from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.storage.presets import PRESETS, model_config
from tests.models.rows import WITH_IMAGE
from tests.models.small import VOCABULARY, changed, hears, reads_images, small_config

PRESET = {model_config(name).family: name for name in PRESETS}
IN_USE = {"vectors", "max_source"}  # read when a model is trained or used


@contextmanager
def recorded(config: Any) -> Iterator[set[str]]:
    """Record the names of the settings that are read from a class of settings."""
    kind: Any = type(config)
    read = set[str]()

    def get(self: Any, name: str) -> Any:
        read.add(name)
        return object.__getattribute__(self, name)

    kind.__getattribute__ = get
    try:
        yield read
    finally:
        del kind.__getattribute__


@pytest.mark.parametrize("family", names("family"))
def test_a_model_reads_every_setting_of_its_family(family: str) -> None:
    preset = PRESET[family]
    config = changed(small_config(preset), inputs=WITH_IMAGE)
    source = 0 if reads_images(preset) or hears(preset) else VOCABULARY
    with recorded(config) as read, torch.device("meta"):
        build(config, VocabularySizes(source, VOCABULARY, source > 0))
    assert not fields_of(type(config)).keys() - read - IN_USE


@pytest.mark.parametrize("family", names("family"))
def test_a_family_has_the_tables_of_its_input_alone(family: str) -> None:
    config, preset = model_config(PRESET[family]), PRESET[family]
    assert type(config) is family_config(family) is type(from_dict(ModelConfig, {"family": family}))
    assert hasattr(config, "audio") is hears(preset)
    assert hasattr(config, "image") is (reads_images(preset) or "multi-source" in family)
    assert hasattr(config, "attention") is (family != "seq2seq")
    assert hasattr(config, "self_attention") is ("transformer" in family)


@pytest.mark.parametrize("preset", PRESETS)
def test_files_of_version_2_with_settings_of_all_families_are_read(preset: str) -> None:
    config = model_config(preset)
    every: dict[str, Any] = to_dict(every_setting())
    own: dict[str, Any] = to_dict(config)
    stored = {**every, **own}
    for table in ("attention", "image"):
        if table in own:
            stored[table] = {**every[table], **own[table]}
    assert from_dict(ModelConfig, stored, stored=True) == config
    assert from_dict(ModelConfig, own) == config
    with pytest.raises(ModelError, match="model.* has no effect"):
        from_dict(ModelConfig, stored, where="model")
    with pytest.raises(ModelError, match="'hiden'.*did you mean hidden"):
        from_dict(ModelConfig, {**stored, "hiden": 3}, where="model", stored=True)


def test_files_of_version_2_are_read_without_the_annexes(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = {"hidden": 9, "audio": {"rate": 8000}, "inputs": [], "combination": "flat"}
    core = {name: row for name, row in TABLES["family"].items() if name not in entries("family")}
    monkeypatch.setitem(TABLES, "family", core)
    found = from_dict(ModelConfig, {**stored, "family": "luong"}, stored=True)
    assert (found.family, found.hidden) == ("luong", 9)


def test_another_family_or_part_keeps_the_settings_that_it_has() -> None:
    given = {"score": "additive", "size": 7, "window": "local_p", "window_size": 3}
    luong = from_dict(ModelConfig, {"family": "luong", "hidden": 99, "attention": given})
    found: Any = merged(luong, {"family": "transformer"})
    assert (found.family, found.hidden, found.heads) == ("transformer", 99, 4)
    assert to_dict(found.attention).items() >= given.items()
    assert not hasattr(merged(found, {"attention": {"score": "dot"}}).attention, "size")
    assert merged(found, {"family": "luong"}) == luong
    bilstm = model_config("bilstm-attention-small")
    several = overridden(bilstm, ["attention.size=5", "pooling=self_attentive"])
    assert several.attention.size == 5 and several.attention.score == "dot"
    scored = overridden(several, ["attention.score=additive"])
    assert merged(scored, {"pooling": "learned"}).attention.size == 5


def test_a_setting_of_a_part_is_given_before_or_after_the_part() -> None:
    texts = ["attention.window_size=3", "attention.window=median"]
    for assignments in (texts, texts[::-1]):
        found = overridden(model_config("luong-nano"), assignments)
        assert found.attention.window_size == 3


@pytest.mark.parametrize(
    ("table", "facts"),
    [
        ({"heads": 3}, "model.heads has no effect on family luong; it is read by transformer, "),
        ({"image": {"size": 3}}, "leave out model.image.size"),
        ({"attention": {"chunk": 3}}, "without the part that reads it; expected "
         "model.attention.normalise=mocha; leave out model.attention.chunk"),
        ({"attention": {"coverage": True}}, "model.attention.score=additive, concat, location_aw"),
        ({"attention": {"scroe": "dot"}}, "'scroe'"),
    ],
)  # fmt: skip
def test_a_setting_that_is_not_read_is_refused_with_what_reads_it(
    table: dict[str, Any], facts: str
) -> None:
    with pytest.raises(ModelError) as refused:
        merged(model_config("luong-nano"), table, where="model")
    assert facts in str(refused.value)


def test_another_image_network_brings_its_grid_size_and_weights() -> None:
    photos = model_config("show-attend-tell-soft")
    vit = overridden(photos, ["image.encoder=vit", "image.width=20"]).image
    assert (vit.grid, vit.size, vit.weights, vit.width) == ("", 64, "none", 20)
    assert overridden(photos, ["image.encoder=vit", "image.size=32"]).image.size == 32
    with pytest.raises(ModelError, match="network mobilenet-edgetpu; expected model.image.enc"):
        overridden(photos, ["image.width=20"])


@pytest.mark.parametrize("kind", ["family", "score", "window", "normalise", "read", "pooling"])
def test_a_class_is_built_with_its_own_settings(kind: str) -> None:
    for name in names(kind):
        config = config_of(kind, name)
        assert issubclass(config or AttentionConfig, (AttentionConfig, ModelConfig))
        own = {*fields_of(config)} - {*fields_of(AttentionConfig)} if config else set()
        assert bool(own) is bool(config), name
