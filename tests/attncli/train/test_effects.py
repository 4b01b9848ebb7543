"""A setting without effect is refused in the same words by a command, a file and `models show`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from attncli.task.table import TRAINING
from attncli.train.configuration import check_effects, run_config
from attncli.training.config import RunConfig, from_toml, to_toml
from attncli.training.sources import find_training_source
from models.core.config import PLAIN_POOLINGS
from models.core.errors import ModelError
from models.core.registry import TABLES
from models.core.settings import (
    fields_of,
    flat,
    limits_of,
    need_of,
    overridden,
    to_dict,
    value_at,
)
from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.storage.presets import PRESETS
from tests.attncli.command_line import Attn

VALUES = ("2", "3", "0.5", "true", "false")  # one of which most settings can be
FURTHER = (
    ("transformer-tiny", "model.cell=lstm"),
    ("transformer-tiny", "search.max_caption=9"),
    ("show-attend-tell-soft-nano", "search.max_ratio=3"),
    ("transformer-tiny", "model.attention.window_size=3"),
)


def useless() -> Iterator[tuple[str, str, str]]:
    """Yield a preset, another setting, and each setting that lacks what it needs there."""
    kinds = [find_training_source(kind) for kind in TRAINING]
    bases = [(kind.default_preset, "train.lr=0.01") for kind in kinds]
    bases += [("bilstm-attention-small", f"model.pooling={name}") for name in PLAIN_POOLINGS]
    bases += [("transformer-tiny", "model.position=rotary"), ("seq2seq-nano", "train.lr=0.01")]
    bases += [("speech-transformer-small", "train.lr=0.01")]
    for preset, base in [one for one in bases if one[0] in PRESETS]:  # some are an annex's
        run = run_config(preset, assignments=[base])
        for place in flat(to_dict(run)):
            need = need_of(run, place)
            is_path = place.removeprefix("data.") in run.data.paths()
            if need and not need.is_met(run) and not is_path:
                yield preset, base, f"{place}={value_of(run, place)}"
    for kind in kinds:
        for name, value in foreign_data().items():
            if name.partition(".")[0] not in fields_of(kind.table):
                yield kind.default_preset, "train.lr=0.01", f"data.{name}={value}"
    for preset, setting in FURTHER:
        yield preset, "train.lr=0.01", setting


def foreign_data() -> dict[str, object]:
    """Return the defaults of the settings of [data] of every kind of input, but no tables."""
    tables = [find_training_source(kind).table() for kind in TRAINING]
    found = {name: value for table in tables for name, value in flat(to_dict(table)).items()}
    return {name: value for name, value in found.items() if not isinstance(value, tuple)}


def value_of(run: RunConfig, place: str) -> str:
    """Return a value that the setting does not have."""
    table, _, name = place.rpartition(".")
    for value in (*VALUES, *filter(None, limits_of(type(value_at(run, table)), name).allowed)):
        with suppress(ModelError):
            if value_at(overridden(run, [f"{place}={value}"]), place) != value_at(run, place):
                return value
    raise AssertionError(place)


@pytest.mark.parametrize(("preset", "base", "setting"), [*useless()])
def test_every_door_says_that_a_setting_has_no_effect(
    preset: str, base: str, setting: str, tmp_path: Path, attn: Attn
) -> None:
    place, _, value = setting.partition("=")
    table, _, name = place.rpartition(".")
    is_text = isinstance(value_at(run_config(preset), place), (str, tuple))
    value = f'"{value}"' if is_text or value not in VALUES else value
    file = tmp_path / "run.toml"
    file.write_text(f'preset = "{preset}"\n[{table}]\n{name} = {value}\n')
    own = ("-s", base, "-o", tmp_path / "run", "--dry-run")
    found = {
        attn("train", "-p", preset, "-s", setting, *own, status=1).err,
        attn("train", file, *own, status=1).err,
        attn("models", "show", preset, "-s", base, "-s", setting, status=1).err,
    }
    [message] = found
    assert message.startswith(f"attn: {place} ") and message.count("\n") == 1
    assert " has no effect " in message or f" for preset {preset} " in message


@pytest.mark.parametrize("preset", PRESETS)
def test_a_file_of_all_settings_of_a_preset_is_accepted(preset: str) -> None:
    tables = from_toml(to_toml(run_config(preset)), "run.toml")
    others = ["train.schedule=constant"]
    check_effects(run_config(preset, tables, others), tables, others)


@pytest.mark.parametrize("name", ["dot", "{bundle}"])
def test_settings_are_changed_of_a_preset_alone(name: str, tiny_bundle: Path, attn: Attn) -> None:
    name = name.format(bundle=tiny_bundle)
    error = attn("models", "show", name, "-s", "model.hidden=8", status=1).err
    assert error == f"attn: -s model.hidden=8 with {name}; expected the name of a preset\n"


@pytest.mark.parametrize("kind", TRAINING)
def test_a_tokenizer_of_bleu_has_an_effect_where_a_run_can_stop_by_it(kind: str) -> None:
    source = find_training_source(kind)
    measured = {"bleu", "error_rate", "chrf", "ter"}
    assert bool(measured & {*source.metrics}) is source.table.HAS_BLEU


@pytest.mark.parametrize("name", TABLES["pooling"])
def test_a_pooling_without_attention_is_stated(name: str) -> None:
    config = run_config("bilstm-attention-nano", assignments=[f"model.pooling={name}"]).model
    assert config.attends == build(config, VocabularySizes(9, 3, False)).decoder.attends
