"""Settings come in as text, TOML or JSON; what is wrong is named, with what was meant."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, is_dataclass
from functools import partial
from typing import Any

import pytest

from attncli.fine_tuning.settings import usual_preset
from attncli.training.config import RunConfig
from models.core.config import ModelConfig
from models.core.errors import ModelError, unknown_name
from models.core.registry import names
from models.core.settings import (
    Limits,
    fields_of,
    from_dict,
    limits_of,
    merged,
    option,
    overridden,
    to_dict,
    within,
)
from models.core.use_config import AlignConfig, SearchConfig
from models.storage.presets import PRESETS, model_config, preset


def _with_tables(config_class: Any) -> Iterator[Any]:
    """Yield a class of settings and those of its tables."""
    yield config_class
    for field in fields_of(config_class).values():
        if is_dataclass(field.default_factory):
            yield from _with_tables(field.default_factory)


CLASSES = sorted(
    {*_with_tables(RunConfig), AlignConfig, SearchConfig}, key=lambda one: one.__name__
)


@dataclass(frozen=True)
class Inner:
    count: int = option(3, "a number")
    names: tuple[str, ...] = option((), "some names")


@dataclass(frozen=True)
class Outer:
    rate: float = option(0.5, "a rate")
    on: bool = option(False, "a switch")
    name: str = option("a", "a name")
    inner: Inner = option(Inner, "a section")


def refused(change: Any) -> str:
    with pytest.raises(ModelError) as error:
        change()
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("config_class", CLASSES)
def test_every_setting_is_documented_within_its_limits_and_survives_json(
    config_class: type,
) -> None:
    for name, field in fields_of(config_class).items():
        doc = field.metadata["doc"]
        assert doc.strip() == doc and doc and not doc.endswith("."), name
        if field.default is not MISSING:
            within(limits_of(config_class, name), field.default, name)
    config = config_class()
    assert from_dict(config_class, json.loads(json.dumps(to_dict(config)))) == config


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_survives_json(name: str) -> None:
    config = model_config(name)
    assert from_dict(ModelConfig, json.loads(json.dumps(to_dict(config)))) == config
    assert preset(name).doc
    for setting, value in preset(name).model.items():
        if not isinstance(value, dict):
            assert getattr(config, setting) == value
    merged(RunConfig(), {"train": preset(name).train})  # knows every setting


def test_what_is_not_named_keeps_its_value() -> None:
    config = merged(Outer(rate=0.1), {"inner": {"count": 5}})
    assert config == Outer(rate=0.1, inner=Inner(count=5))
    assert merged(config, {"inner": {"names": ["x"]}}).inner == Inner(5, ("x",))
    assert merged(config, {}) == config


def test_assignments_are_taken_in_order() -> None:
    config = overridden(
        Outer(), ["rate=0.25", "inner.count=7", "inner.names=a,b", "on=true", "inner.count=1_000"]
    )
    assert config == Outer(0.25, True, "a", Inner(1000, ("a", "b")))
    assert overridden(Outer(), ["name=x=y"]).name == "x=y"
    assert overridden(Outer(), ["name="]).name == ""


@pytest.mark.parametrize(
    ("place", "given", "value"),
    [
        ("rate", 1, 1.0),
        ("rate", "1e-3", 0.001),
        ("name", 5, "5"),
        *(("on", text, True) for text in ("true", "YES", "1")),
        *(("on", text, False) for text in ("false", "No", "0")),
        ("inner.count", 4.0, 4),
        ("inner.count", "2", 2),
        ("inner.names", ["a", "b"], ("a", "b")),
        ("inner.names", ("a",), ("a",)),
        ("inner.names", [], ()),
        ("inner.names", "", ()),
        ("inner.names", "a,,b", ("a", "b")),
    ],
)
def test_values_become_the_settings_type(place: str, given: Any, value: Any) -> None:
    section, _, name = place.rpartition(".")
    config = merged(Outer(), {section: {name: given}} if section else {name: given})
    found = getattr(getattr(config, section) if section else config, name)
    assert found == value and type(found) is type(value)


WRONG: dict[type, tuple[str, list[Any]]] = {  # values of other types
    int: ("a whole number", ["x", "2.5", 2.5, math.inf, math.nan, None, [1], "9" * 5000]),
    float: ("a number", ["fast", None, True, [1.0], 10**400]),
    bool: ("true or false", ["maybe", 2, None]),
    str: ("text", [None, {"a": 1}]),
    tuple: ("texts", [5, {"a": 1}]),
}


def outside(limits: Limits) -> list[Any]:
    """Return values that limits exclude."""
    if limits.allowed:
        return [f"{limits.allowed[-1]}x"]
    edges = [limits.above, limits.below]
    edges += [None if limits.least is None else limits.least - 1]
    edges += [None if limits.at_most is None else 2 * limits.at_most + 1]
    return [math.nan, *(edge for edge in edges if edge is not None)] if limits.range else []


@pytest.mark.parametrize("config_class", CLASSES)
def test_a_value_of_another_type_or_outside_its_limits_is_refused(config_class: type) -> None:
    for name in fields_of(config_class):
        value, limits = getattr(config_class(), name), limits_of(config_class, name)
        expected, wrong = ("a table", [3]) if is_dataclass(value) else WRONG[type(value)]
        rows = [(given, expected) for given in wrong]
        rows += [(given, limits.range) for given in outside(limits)]
        for given, words in rows:
            message = refused(partial(merged, config_class(), {name: given}))
            assert message.startswith(f"{name} = ") and "; expected " in message, message
            assert (words in message or type(given) is float) and len(message) < 900, message


@pytest.mark.parametrize(
    ("config", "setting", "facts"),
    [
        (RunConfig(), "model.attention.scroe=dot", ["'scroe'", "[model.attention]", "mean score?"]),
        (RunConfig(), "model.hiden=3", ["[model]", "did you mean hidden"]),
        (Outer(), "rte=3", ["'rte'", "did you mean rate"]),
        (Outer(), "zzzzzz=3", ["'zzzzzz'", "one of inner, name, on, rate"]),
        (RunConfig(), "lr=0.1", ["setting 'lr' without its table; expected train.lr"]),
        (RunConfig(), "kind=bpe", ["expected tokenizer.kind"]),
    ],
)
def test_an_unknown_setting_is_refused_with_its_table_and_near_names(
    config: Any, setting: str, facts: list[str]
) -> None:
    message = refused(lambda: overridden(config, [setting]))
    assert [fact for fact in facts if fact not in message] == []


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("De", ["de", "en", "es"], "did you mean de?"),  # in other letters
        ("german", ["de", "en", "es", "fr"], ""),
        ("eng", ["de", "en", "es", "fr"], "did you mean en?"),
        ("de-DE", ["de", "en", "es", "fr"], "did you mean de?"),
        ("transformer-tny", [*PRESETS], "did you mean transformer-tiny"),
    ],
)
def test_near_names_are_suggested_and_codes_if_a_name_begins_with_them(
    name: str, known: list[str], hint: str
) -> None:
    found = unknown_name("language", name, known).hint
    assert found.startswith(hint) and bool(found) is bool(hint)


@pytest.mark.parametrize("text", ["rate", "", "=3", "inner=3", "rate.x=3", "inner.=3", ".rate=1"])
def test_an_assignment_of_another_form_is_refused(text: str) -> None:
    refused(lambda: overridden(Outer(), [text]))


@pytest.mark.parametrize("family", names("family"))
def test_every_family_has_a_usual_preset(family: str) -> None:
    assert model_config(usual_preset(family)).family == family
    marked = [name for name in PRESETS if PRESETS[name].usual]
    assert [model_config(name).family for name in marked].count(family) <= 1
    hard = model_config(usual_preset("captioner", "hard"))
    assert hard.attention.read == "hard" and hard.family == "captioner"


@pytest.mark.parametrize(
    ("name", "usual", "other"),
    [
        *(("encoder_attention", "none", "intra"), ("input_feeding", True, False)),
        ("attention_dropout", 0.0, 0.1),
    ],
)
def test_a_removed_setting_is_ignored_at_its_default_and_refused_otherwise(
    name: str, usual: object, other: object
) -> None:
    assert from_dict(RunConfig, {"model": {name: usual}}) == RunConfig()
    assert overridden(RunConfig(), [f"model.{name}={usual}"]) == RunConfig()
    found = refused(partial(from_dict, RunConfig, {"model": {name: other}}))
    assert f"model.{name} = {other!r}, a setting that an earlier version had" in found
