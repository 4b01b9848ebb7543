"""The table of tasks: each part of a task exists, and each kind of input has one task."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

import pytest

from attncli.tasks.table import TASKS, TRAINING
from models.base.registry import TABLES

FOLDER = Path(__file__).parents[3] / "attncli/tasks"


def test_every_folder_of_a_task_has_a_row() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/__init__.py")} == set(TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_every_place_of_a_row_names_something_that_exists(name: str) -> None:
    task = TASKS[name]
    many = (task.commands, task.training, task.comparison)
    places = [place for each in many for place in each.values()]
    for place in (*places, *filter(None, (task.bulk, task.loaded))):
        assert callable(resolve_name(place))


def test_each_kind_of_input_has_one_task_that_trains() -> None:
    kinds = [kind for task in TASKS.values() for kind in task.training]
    assert sorted(kinds) == sorted(TABLES["source"]) == sorted(TRAINING)
    for task in TASKS.values():
        assert set(task.comparison) <= set(task.training) and bool(task.comparison) is bool(
            task.training
        )
