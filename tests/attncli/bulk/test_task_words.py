"""The words after `--` have the options of the task's own command, and no others."""

from __future__ import annotations

import inspect
import shlex
from dataclasses import fields
from pathlib import Path
from pkgutil import resolve_name

import pytest

from attncli.jobs.bulk_job import NOT_IN_BULK, read_job
from attncli.task.table import RUNNERS, TASKS, find_runner
from tests.attncli.command_line import Attn

HERE = "cannot be used in a bulk job"
REFUSED = {  # words after `--`: the message
    "translate --show": HERE,
    "translate -o out": HERE,
    "translate -i in": HERE,
    "translate --align": HERE,
    "translate 'A dog.'": HERE,
    "classify --picture words.svg": HERE,
    "caption --sidecar": HERE,
    "align --hypotheses links": HERE,
    "translate -s picture.lines=1": f"picture.lines {HERE}",
    "classify -s picture.lines=1": f"picture.lines {HERE}",
    "align -s picture.lines=1": f"picture.lines {HERE}",
    "caption -s output.overwrite=true": f"output.overwrite {HERE}",
    "align --format svg": "one document",
    "caption --format html": "one document",
}


def with_model(words: list[str], bundle: Path) -> list[str]:
    return [words[0], "-m", str(bundle), *words[1:]]


@pytest.mark.parametrize("name", RUNNERS)
def test_every_option_of_a_command_is_used_or_refused(name: str) -> None:
    parameters = set(inspect.signature(resolve_name(TASKS[name].commands[name])).parameters)
    options = {each.name for each in fields(find_runner(name).options_of)}
    assert parameters <= {*options, "set", "beam", "nbest", "model", *NOT_IN_BULK}


@pytest.mark.parametrize("words", REFUSED)
def test_an_option_without_meaning_in_a_bulk_job_is_refused_in_one_line(
    words: str, tmp_path: Path, attn: Attn
) -> None:
    files = [str(tmp_path), str(tmp_path / "out")]
    [line] = attn("bulk", *files, "--", *shlex.split(words), status=1).err.splitlines()
    assert REFUSED[words] in line


@pytest.mark.parametrize("words", [["in", "out"], ["translate", "-m", "en-de", "in", "out"]])
def test_a_call_without_a_task_is_refused_in_one_line(words: list[str], attn: Attn) -> None:
    [line] = attn("bulk", *words, status=1).err.splitlines()
    assert f"-- {'|'.join(RUNNERS)}" in line


def test_a_worker_gets_the_settings_of_the_command(tiny_bundle: Path, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("dog\tHund\n", "utf-8")
    words = ["translate", "--beam", "3", "--glossary", str(terms), "--verbatim", "--scores"]
    job = read_job(with_model(words, tiny_bundle))
    assert (job.settings["beam"], job.settings["verbatim"], job.threads) == (3, True, 1)
    assert job.settings["glossary"] == [["dog", "Hund"]]
    job.open()
    assert read_job(with_model(["translate", "--threads", "0"], tiny_bundle)).threads == 0


def test_what_the_command_refuses_is_a_usage_error(tiny_bundle: Path, attn: Attn) -> None:
    for words, option in (
        (["translate", "-s", "search.method=greedy", "--nbest", "2"], "--nbest"),
        (["align", "-m", str(tiny_bundle)], "--model"),  # a second one
    ):
        task = with_model(words, tiny_bundle)
        assert option in attn("bulk", "in", "out", "--", *task, status=2).err
