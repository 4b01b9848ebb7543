"""The recipes of docs/adding.md work as written, in a copy of the repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.shell import Result

ROOT = Path(__file__).parents[2]
WORKERS = "-n 2 --dist loadfile --no-loadscope-reorder"  # as in the Makefile, on two cores
OUTPUT: Any = {"capture_output": True, "text": True}
IS_WHOLE = (ROOT / "attncli/documents").is_dir()  # one of the recipes adds a format
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="fork"),
    pytest.mark.skipif(not IS_WHOLE, reason="recipes of what an annex does"),
]
BLOCK = re.compile(r"^```python (file|into)=(\S+)(?: after=([^\n]*))?\n(.*?)^```$", re.S | re.M)
SECTIONS = {
    section.partition("\n")[0]: section
    for section in (ROOT / "docs/adding.md").read_text("utf-8").split("\n## ")[1:]
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository with every recipe applied."""
    folder = tmp_path_factory.mktemp("copy")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, **OUTPUT)
    if listed.returncode:
        pytest.skip("not a checkout of git")
    for path in map(Path, listed.stdout.splitlines()):
        if (ROOT / path).is_file():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, folder / path)
    shutil.copytree(ROOT / "docs/adding", folder, dirs_exist_ok=True)
    for section in SECTIONS.values():
        for kind, path, after, text in BLOCK.findall(section):
            apply(folder / path, text, after if kind == "into" else None)
    return folder


def apply(path: Path, text: str, after: str | None) -> None:
    """Write a new file, or insert rows into one below the line that ends with `after`."""
    if after is None:
        assert not path.exists(), f"{path} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return
    before, found, rest = path.read_text("utf-8").partition(f"{after}\n")
    assert found and f"{after}\n" not in rest, f"one line {after!r} in {path}"
    path.write_text(before + found + text + rest, "utf-8")


@pytest.fixture(scope="module")
def results(copy: Path) -> dict[str, Result]:
    """Return the result of each command line, run in forks of one process in the copy."""
    lines = [line for section in SECTIONS.values() for line in lines_of(section)]
    command = [sys.executable, "-m", "tests.docs.shell", *lines]
    done = subprocess.run(command, cwd=copy, **OUTPUT)
    assert done.returncode == 0, done.stderr
    found = [Result(*result) for result in json.loads(done.stdout)]
    return dict(zip(lines, found, strict=True))


def lines_of(section: str) -> list[str]:
    """Return the command lines of a recipe that run in the copy."""
    blocks = re.findall(r"^```sh copy\n(.*?)^```$", section, re.S | re.M)
    return "".join(blocks).splitlines()


def test_a_task_is_a_folder_of_at_most_250_lines() -> None:
    files = (ROOT / "docs/adding/attncli/describe").glob("*.py")
    assert 0 < sum(len(file.read_text("utf-8").splitlines()) for file in files) <= 250


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_linter_and_the_whole_suite_pass_with_every_recipe(copy: Path) -> None:
    for line in (
        *("ruff check --fix-only -q --select I .", "ruff format -q .", "ruff check ."),
        f"pytest -p no:cacheprovider {WORKERS} --deselect tests/docs/test_adding.py",
    ):
        command, where = [sys.executable, "-m", *line.split()], {"PYTHONPATH": str(copy)}
        done = subprocess.run(command, cwd=copy, env=os.environ | where, **OUTPUT)
        assert done.returncode == 0, line + done.stdout[-9000:]


@pytest.mark.parametrize("name", SECTIONS)
def test_a_recipe_works_as_written(name: str, results: dict[str, Result]) -> None:
    lines = lines_of(SECTIONS[name])
    assert lines and BLOCK.search(SECTIONS[name])
    for line in lines:
        status, out, err = results[line]
        assert status == 0, f"{line}\n{out}{err}"
        assert "no tests ran" not in out and "skipped" not in out, out
