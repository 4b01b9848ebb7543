"""Settings, options and commands of earlier versions: read where stored, refused where typed."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from attncli.commands.evaluate import EvaluateTables
from attncli.options.settings import names_of, tables_of
from attncli.shell import app, removed_options
from attncli.tasks.align.command import AlignTables
from attncli.training.settings.config import RunConfig
from attncli.training.settings.toml import from_toml
from attncli.training.storage.folder import RunFolder, read_config
from models.base.errors import ConfigurationError
from models.base.removed_settings import (
    REMOVED,
    RemovedSetting,
    RemovedSettingWarning,
    without_removed,
)
from models.base.settings import fields_of, overridden
from models.storage.settings import read_settings
from tests.attncli.command_line import Attn
from tests.fixtures.before_restructuring import make
from tests.forks import Program

PLACE = "train.products"
STORED = ("data.corpora.", "alignment.")  # tables that the command line cannot change


@pytest.mark.parametrize("place", [name for name in REMOVED if not name.startswith(STORED)])
def test_a_removed_setting_is_refused_with_its_reason(place: str) -> None:
    name, kinds = place.partition(".")[0], (RunConfig, AlignTables, EvaluateTables)
    tables = next(kind() for kind in kinds if name in fields_of(kind))
    with pytest.raises(ConfigurationError, match=rf"^{place} was removed: \w"):
        overridden(tables, [f"{place}=1"])


@pytest.mark.parametrize("name", removed_options.OPTIONS)
def test_a_removed_option_answers_with_its_reason(name: str, attn: Attn) -> None:
    assert f"Error: {name} was removed: " in attn("translate", name, status=2).err


@pytest.mark.parametrize("old", [*removed_options.RENAMED, *removed_options.SETTINGS])
def test_a_renamed_option_answers_with_its_present_name(old: str, attn: Attn) -> None:
    new, setting = removed_options.RENAMED.get(old), removed_options.SETTINGS.get(old)
    found = [
        name
        for name in app.COMMANDS
        if (has(name, new) if new else setting in settings_of(name)) and not has(name, old)
    ]
    assert found
    present = new or f"a setting: -s {setting}="
    for name in found:
        assert f"Error: {old} is now {present}" in attn(*name.split(), old, status=2).err


def has(name: str, option: str) -> bool:
    """Return True if a command has an option."""
    params = app.load_command(name).params
    return any(option in one for param in params for one in (param.opts, param.secondary_opts))


def settings_of(name: str) -> list[str]:
    """Return the settings of a command."""
    tables = tables_of(resolve_name(app.COMMANDS[name]))
    return names_of(tables) if tables else []


@pytest.mark.parametrize("name", removed_options.COMMANDS)
def test_a_removed_command_answers_with_its_reason(name: str, attn: Attn) -> None:
    assert f"Error: `attn {name}` was removed: " in attn(*name.split(), "-x", status=2).err


def test_a_stored_setting_gives_a_warning_unless_it_had_no_effect() -> None:
    stored: dict[str, Any] = {"train": {"products": "torch", "lr": 1}, "data": {"train": ["a"]}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = without_removed(stored, "config.toml")
    assert kept == {**stored, "train": {"lr": 1}}
    stored["train"]["products"] = "onednn"
    with pytest.warns(RemovedSettingWarning, match=r"^config.toml: train.products has no effect"):
        assert without_removed(stored, "config.toml") == kept


def test_a_removed_setting_in_a_list_of_tables_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REMOVED, "data.corpora.weight", REMOVED[PLACE])
    text = "[[data.corpora]]\nfiles = ['a']\nweight = 'torch'\n"
    assert from_toml(text, "a.toml") == {"data": {"corpora": [{"files": ["a"]}]}}


def test_a_run_folder_with_a_removed_setting_is_read(tmp_path: Path) -> None:
    before = (make.HERE / "runs" / "finished" / "config.toml").read_text("utf-8")
    (tmp_path / "config.toml").write_text(before, "utf-8")
    expected = read_config(RunFolder(tmp_path))
    changed = before.replace("[train]\n", '[train]\nproducts = "onednn"\n')
    (tmp_path / "config.toml").write_text(changed, "utf-8")
    with pytest.warns(RemovedSettingWarning, match=PLACE):
        assert read_config(RunFolder(tmp_path)) == expected


def test_a_command_says_once_that_a_setting_of_a_bundle_has_no_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REMOVED, "search.gone", RemovedSetting(1, "a test"))
    folder = tmp_path / "model"
    shutil.copytree(make.HERE / "bundles" / "transformer", folder)
    settings = read_settings(folder)
    settings["search"]["gone"] = 3
    (folder / "config.json").write_text(json.dumps(settings), "utf-8")
    command = ["translate", "-m", str(folder), "the dog"]
    program = Program(command)
    out, said = program.communicate()
    assert (program.returncode, out.count("\n")) == (0, 1)
    remark = f"{folder}/config.json: search.gone has no effect. It was removed: a test\n"
    assert said.startswith(remark) and said.count("no effect") == 1
    assert "no effect" not in Program([*command, "-q"]).communicate()[1]
