"""The table of tasks: each part of a task exists, and each kind of input has one task."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

import pytest

from attncli.compare._scores import QUALITY
from attncli.shell.app import COMMANDS
from attncli.task.table import TASKS, TRAINING
from attncli.training.interfaces import Scores
from attncli.training.sources import find_training_source
from models.core.annexes import entries
from models.core.registry import TABLES

FOLDER = Path(__file__).parents[3] / "attncli"


def test_every_folder_with_a_command_has_a_row() -> None:
    folders = {f"attncli.{path.parent.name}.command" for path in FOLDER.glob("*/command.py")}
    assert folders <= {place.partition(":")[0] for place in COMMANDS.values()}
    assert {f"attncli.{task}.command" for task in TASKS} <= folders


@pytest.mark.parametrize("name", TASKS)
def test_every_place_of_a_row_names_something_that_exists(name: str) -> None:
    task = TASKS[name]
    many = (task.commands, task.training)
    places = [place for each in many for place in each.values()]
    for place in (*places, *filter(None, (task.runner, task.loaded))):
        assert callable(resolve_name(place))


def test_each_kind_of_input_has_one_task_that_trains() -> None:
    kinds = [kind for task in TASKS.values() for kind in task.training] + [*entries("training")]
    assert sorted(kinds) == sorted(TABLES["source"]) == sorted(TRAINING)
    for kind in kinds:
        found = find_training_source(kind).comparison
        assert found is None or set(found.metrics) <= set(Scores._fields)
        assert found is None or set(found.metrics.values()) <= set(QUALITY)
