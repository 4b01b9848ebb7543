"""The table of tasks: each part of a task exists, and each kind of input has one task."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.tasks.table import TASKS, training_places
from models.base.places import imported
from models.base.registry import TABLES

FOLDER = Path(__file__).parents[3] / "attncli/tasks"


def test_every_folder_of_a_task_has_a_row() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/__init__.py")} == set(TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_every_place_of_a_row_names_something_that_exists(name: str) -> None:
    task = TASKS[name]
    others = (task.training, task.comparison, task.bulk, task.loaded)
    for place in (*task.commands.values(), *filter(None, others)):
        assert callable(imported(place))


def test_each_kind_of_input_has_one_task_that_trains_and_compares() -> None:
    kinds = [task.source for task in TASKS.values() if task.training]
    assert sorted(kinds) == sorted(TABLES["source"]) == sorted(training_places())
    assert all(task.comparison for task in TASKS.values() if task.training)
