"""A copy of the repository without some annexes: without their files, their rows and their tests.

python -m tests.torn_down FOLDER [ANNEX...]      without all of them, if none is named
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = Path("tests/annexes.txt")
ANNEXES = dict(line.split("\t") for line in (ROOT / TABLE).read_text("utf-8").splitlines())
ROWS = Path("models/core/annexes.py")


def tear_down(folder: Path, annexes: Sequence[str]) -> None:
    """Write the copy into an empty folder."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    paths = [path for path in map(Path, listed.stdout.splitlines()) if (ROOT / path).is_file()]
    modules = {path: module_of(path) for path in paths if path.suffix == ".py"}
    away = {path for path, module in modules.items() if is_own(module, annexes)}
    gone, grew = {modules[path] for path in away}, True
    while grew:  # tests of the annexes, and tests that use these
        users = {
            path
            for path in modules.keys() - away
            if path.parts[0] == "tests" and gone & {*imports(path)}
        }
        away, gone, grew = away | users, gone | {modules[path] for path in users}, bool(users)
    for path in paths:
        if path not in away:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, folder / path)
    (folder / ROWS).write_text(without_rows(annexes), "utf-8")
    kept = (f"{name}\t{pattern}\n" for name, pattern in ANNEXES.items() if name not in annexes)
    (folder / TABLE).write_text("".join(kept), "utf-8")


def module_of(path: Path) -> str:
    """Return the module of a path below the root."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def is_own(module: str, annexes: Sequence[str]) -> bool:
    """Return True for a module of one of the annexes."""
    return any(re.match(ANNEXES[name], module) for name in annexes)


def imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file may import, with those of the names that it takes of them."""
    for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def without_rows(annexes: Sequence[str]) -> str:
    """Return the table of annexes without the rows of some."""
    text = (ROOT / ROWS).read_text("utf-8")
    lines = text.splitlines(keepends=True)
    [table] = (
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict)
    )
    for key, value in reversed([*zip(table.keys, table.values, strict=True)]):
        if isinstance(key, ast.Constant) and key.value in annexes:
            del lines[key.lineno - 1 : value.end_lineno]
    return "".join(lines)


if __name__ == "__main__":
    tear_down(Path(sys.argv[1]), sys.argv[2:] or [*ANNEXES])
