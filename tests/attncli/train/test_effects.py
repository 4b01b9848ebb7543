"""A setting without effect is refused in the same words by a command, a file and `models show`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from attncli.task.table import TRAINING
from attncli.train.configuration import check_effects, preset_config, run_config
from attncli.training.config import RunConfig, from_toml, to_toml
from attncli.training.sources import find_training_source
from models.core.errors import ModelError
from models.core.settings import fields_of, flat, need_of, overridden, to_dict
from models.storage.presets import PRESETS
from tests.attncli.command_line import Attn

VALUES = ("0.5", "3")  # one of which each number can be


def useless() -> Iterator[tuple[str, str]]:
    """Yield a preset of each kind of input, and each setting that lacks what it needs there."""
    for source in map(find_training_source, TRAINING):
        run = preset_config(source.default_preset)
        run = run.of_kind(run.model.family)
        for place in flat(to_dict(run)):
            need = need_of(run, place)
            if (
                need
                and not need.is_met(run)
                and place.removeprefix("data.") not in run.data.paths()
            ):
                yield source.default_preset, f"{place}={value_of(run, place)}"
        own = fields_of(source.table)
        for name, value in foreign_data().items():
            if name.partition(".")[0] not in own:
                yield source.default_preset, f"data.{name}={value}"
    yield "transformer-tiny", "model.cell=lstm"
    yield "transformer-tiny", "search.max_caption=9"
    yield "show-attend-tell-soft-nano", "search.max_ratio=3"
    yield "transformer-tiny", "model.attention.window_size=3"


def foreign_data() -> dict[str, object]:
    """Return the defaults of the settings of [data] of every kind of input, but no tables."""
    tables = [find_training_source(kind).table() for kind in TRAINING]
    found = {name: value for table in tables for name, value in flat(to_dict(table)).items()}
    return {name: value for name, value in found.items() if not isinstance(value, tuple)}


def value_of(run: RunConfig, place: str) -> str:
    """Return a value that the setting does not have."""
    for value in VALUES:
        with suppress(ModelError):
            if overridden(run, [f"{place}={value}"]) != run:
                return value
    raise AssertionError(place)


@pytest.mark.parametrize(("preset", "setting"), [*useless()])
def test_every_door_says_that_a_setting_has_no_effect(
    preset: str, setting: str, tmp_path: Path, attn: Attn
) -> None:
    place, _, value = setting.partition("=")
    table, _, name = place.rpartition(".")
    value = value if value.replace(".", "").isdigit() else f'"{value}"'
    file = tmp_path / "run.toml"
    file.write_text(f'preset = "{preset}"\n[{table}]\n{name} = {value}\n')
    own = ("-o", tmp_path / "run", "--dry-run")
    found = {
        attn("train", "-p", preset, "-s", setting, *own, status=1).err,
        attn("train", file, *own, status=1).err,
        attn("models", "show", preset, "-s", setting, status=1).err,
    }
    [message] = found
    assert message.startswith(f"attn: {place} ") and message.count("\n") == 1
    assert " has no effect " in message


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
