"""Annexes can be torn down: without the files and the row of one, all else imports, and works.

annexes.txt names each annex with a regular expression of its modules. An annex registers by its row
in models/core/annexes.py, and no other file imports it, not even inside a function.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from models.core.annexes import ANNEXES as ROWS
from tests.forks import in_child
from tests.source import FILES, imported, tree
from tests.torn_down import ANNEXES, is_own, tear_down

TABLE_OF_ROWS = "models.core.annexes"
JOINTS = {  # files that join an annex with the one whose room they are in
    *("attncli.serve.documents", "attncli.serve.transcripts"),
    *("models.importers.whisper", "models.importers.whisper_files"),
}

OF_THE_CORE = {  # names that annexes alone use
    "models.core.limits",  # of the table in docs/limits.md
    *("attncli.data.embedded:generate", "attncli.data.streams:uncompressed"),  # of two annexes
    # they use what is private to their files
    *("attncli.render.plots:strips", "attncli.render.plots:variant_curves"),
    *("attncli.train.job:train_along", "models.storage.archive:members_of"),
    *("models.engines.ctranslate2_convert:converted_whisper", "models.text.vocabulary:of_words"),
    *("models.storage.weights:fill_from", "models.text.tokenizer:new_parts"),
}

PART = (
    "models/core",
    "models/alignment",
    "models/test_forward.py",
    "attncli/faithful",
    "attncli/classify",
)
IMPORT_ALL = """
import importlib, pkgutil, attncli, models
for package in (attncli, models):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
"""


def modules_of(annex: str) -> set[str]:
    return {module for module in FILES if is_own(module, [annex])}


class Blocker(importlib.abc.MetaPathFinder):
    """Finder before all others, for which the modules of some annexes are not there."""

    def __init__(self, blocked: set[str]) -> None:
        self.blocked = blocked

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in self.blocked:
            raise ModuleNotFoundError(f"{name} is torn down", name=name)


def import_all_others(blocked: set[str], annexes: Sequence[str], report: Path) -> None:
    """Import everything anew without some modules and rows; write what fails into a report."""
    for name in [name for name in sys.modules if name.split(".")[0] in ("attncli", "models")]:
        del sys.modules[name]
    sys.meta_path.insert(0, Blocker(blocked))
    rows = importlib.import_module("models.core.annexes").ANNEXES
    for name in annexes:
        rows.pop(name, None)
    failed = []
    for module in sorted(FILES.keys() - blocked):
        try:
            importlib.import_module(module)
        except Exception as error:
            failed.append(f"{module}: {error!r}\n")
    report.write_text("".join(failed), "utf-8")


def failures(blocked: set[str], annexes: Sequence[str], folder: Path) -> list[str]:
    """Return what cannot be imported without some modules, and the rows of annexes."""
    report = folder / "report.txt"
    child = in_child(lambda: import_all_others(blocked, annexes, report))
    assert os.waitpid(child, 0)[1] == 0
    return report.read_text("utf-8").splitlines()


def users(annex: str) -> list[str]:
    """Return the other files that name a module of an annex, in an import or a place."""
    own, found = modules_of(annex), []
    for module in FILES.keys() - own - {TABLE_OF_ROWS}:
        nodes = [*ast.walk(tree(module))]
        places = {
            node.value.partition(":")[0]
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        if own & ({*imported(iter(nodes))} | places):
            found.append(module)
    return sorted(found)


@pytest.mark.parametrize("annex", ANNEXES)
def test_all_else_imports_without_an_annex(annex: str, tmp_path: Path) -> None:
    assert annex in ROWS
    assert users(annex) == []
    assert failures(modules_of(annex), [annex], tmp_path) == []


@pytest.mark.parametrize("annex", ANNEXES)
def test_an_annex_is_a_room_or_a_pair_of_rooms(annex: str) -> None:
    own = modules_of(annex)
    rooms = {FILES[module].parent for module in own - JOINTS}
    assert {module for module in FILES if FILES[module].parent in rooms} <= own
    assert len(rooms) <= len({room.parent for room in rooms})


def names_of(module: str) -> Iterator[str]:
    """Yield the functions, classes and constants of a module."""
    for node in tree(module).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (one.id for one in node.targets if isinstance(one, ast.Name))


def test_what_annexes_alone_use_stands_in_them() -> None:
    core = FILES.keys() - {*chain(*map(modules_of, ANNEXES))}
    words = {
        module: Counter(re.findall(r"\w+", FILES[module].read_text("utf-8"))) for module in FILES
    }
    used = sum((words[module] for module in core), Counter[str]())
    others = sum((words[module] for module in FILES.keys() - core), Counter[str]())
    found = {
        f"{module}:{name}"
        for module in core - OF_THE_CORE
        for name in names_of(module)
        if used[name] == 1 and others[name]
    }
    assert found <= OF_THE_CORE


def test_the_core_imports_without_any_annex(tmp_path: Path) -> None:
    assert failures({*chain(*map(modules_of, ANNEXES))}, [*ANNEXES], tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("annexes", [*([name] for name in ANNEXES), [*ANNEXES]], ids=", ".join)
def test_a_copy_without_annexes_imports_and_works(annexes: list[str], tmp_path: Path) -> None:
    tear_down(tmp_path, annexes)
    part = [f"tests/{path}" for path in PART]
    for line in (["-c", IMPORT_ALL], ["-m", "pytest", "-q", "-x", "-n0", *part]):
        done = subprocess.run(
            [sys.executable, *line],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_a_row_names_a_part_that_is_there() -> None:
    assert {*ROWS} <= {*ANNEXES}
    for annex, tables in ROWS.items():
        for place in chain.from_iterable(table.values() for table in tables.values()):
            assert place.partition(":")[0] in modules_of(annex)
            assert resolve_name(place)


def test_a_file_that_is_needed_is_missed(tmp_path: Path) -> None:
    found = failures({"attncli.options.fields"}, [], tmp_path)
    assert any(line.startswith("attncli.shell.app: ModuleNotFoundError") for line in found)
