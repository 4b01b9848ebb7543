"""The words after `--` have the options of the task's own command, and no others."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from pkgutil import resolve_name

import pytest

from attncli.jobs.bulk_job import NOT_IN_BULK, read_job
from attncli.task.table import RUNNERS, TASKS, find_runner


def with_model(words: list[str], bundle: Path) -> list[str]:
    return [words[0], "-m", str(bundle), *words[1:]]


@pytest.mark.parametrize("name", RUNNERS)
def test_every_option_of_a_command_is_used_or_refused(name: str) -> None:
    parameters = set(inspect.signature(resolve_name(TASKS[name].commands[name])).parameters)
    options = {each.name for each in fields(find_runner(name).options_of)}
    assert parameters <= {*options, "set", "beam", "nbest", "model", *NOT_IN_BULK}


def test_a_worker_gets_the_settings_of_the_command(tiny_bundle: Path, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("dog\tHund\n", "utf-8")
    words = ["translate", "--beam", "3", "--glossary", str(terms), "--verbatim", "--scores"]
    job = read_job(with_model(words, tiny_bundle))
    assert (job.settings["beam"], job.settings["verbatim"], job.threads) == (3, True, 1)
    assert job.settings["glossary"] == [["dog", "Hund"]]
    job.open()
    assert read_job(with_model(["translate", "--threads", "0"], tiny_bundle)).threads == 0
