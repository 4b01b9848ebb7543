"""Stored settings that no longer exist are ignored, with a warning if they had an effect."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from attncli.training.run.configuration import run_config
from attncli.training.settings.config import RunConfig
from attncli.training.settings.corpora import CorpusConfig
from models.base.errors import ModelError
from models.base.settings import fields_of, from_dict, overridden
from models.config.tables import AlignConfig
from models.removed_settings import REMOVED, RemovedSettingWarning

OUTSIDE = {"alignment": AlignConfig, "data.corpora": CorpusConfig}  # no tables of RunConfig


def table_class(table: str) -> type:
    """Return the settings class of a table, such as train.attention."""
    if table in OUTSIDE:
        return OUTSIDE[table]
    found: Any = RunConfig()
    for name in table.split("."):
        found = getattr(found, name)
    return type(found)


@pytest.mark.parametrize("place", REMOVED)
def test_a_removed_setting_no_longer_exists(place: str) -> None:
    table, _, name = place.rpartition(".")
    assert name not in fields_of(table_class(table))


def test_a_stored_value_without_effect_is_ignored() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert from_dict(RunConfig, {"train": {"tensorboard": False}}) == RunConfig()


def test_a_stored_value_with_effect_is_ignored_with_a_warning() -> None:
    with pytest.warns(RemovedSettingWarning, match="train.tensorboard no longer exists") as found:
        assert from_dict(RunConfig, {"train": {"tensorboard": True}}) == RunConfig()
    assert len(found) == 1 and "use train.loggers=tensorboard" in str(found[0].message)


def test_a_removed_setting_on_the_command_line_is_refused() -> None:
    with pytest.raises(ModelError, match="train.tensorboard no longer exists; use train.loggers"):
        overridden(RunConfig(), ["train.tensorboard=false"])


def test_other_names_stay_unknown() -> None:
    with pytest.raises(ModelError, match="unknown setting in \\[train\\] 'tensorbored'"):
        run_config("transformer-tiny", {"train": {"tensorbored": True}})


def test_the_command_line_shows_one_line(tmp_path: Path) -> None:
    file = tmp_path / "old.toml"
    file.write_text("[train]\ntensorboard = true\nstepz = 1\n", "utf-8")
    command = [sys.executable, "-m", "attncli", "train", str(file), "-o", str(tmp_path / "run")]
    shown = subprocess.run(command, capture_output=True, text=True)
    remark, error = shown.stderr.splitlines()
    assert remark.startswith("attn: setting train.tensorboard no longer exists and is ignored; use")
    assert "stepz" in error and shown.returncode == 1
