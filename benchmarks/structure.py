"""Figures about the structure of the source: sizes, imports, types and docstrings.

    python benchmarks/structure.py                 # the working tree
    python benchmarks/structure.py 8835d3f HEAD    # git revisions, one column each

Lengths of functions are counted from `def` to the last line, docstring included. Import cycles are
counted among imports that run when a module is loaded; imports under TYPE_CHECKING and inside
functions are left out. A docstring of a function is imperative by pydocstyle's rule D401, as
computed by ruff.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import math
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGES = ("attncli", "models")
LONG = 40  # lines of a function


class Module(NamedTuple):
    """A source file, parsed."""

    name: str
    path: str
    text: str
    tree: ast.Module


def main() -> None:
    """Print a table with one row per figure and one column per revision."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("revision", nargs="*", help="git revision (default: the working tree)")
    revisions = parser.parse_args().revision
    columns = {"working tree": figures(ROOT)} if not revisions else {}
    for revision in revisions:
        with tempfile.TemporaryDirectory() as folder:
            extract(revision, Path(folder))
            columns[revision] = figures(Path(folder))
    print("| figure |", *(f"{name} |" for name in columns))
    print("|---|" + "---|" * len(columns))
    for row in next(iter(columns.values())):
        print(f"| {row} |", *(f"{column[row]} |" for column in columns.values()))


def extract(revision: str, folder: Path) -> None:
    """Write the packages of a git revision into a folder."""
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", revision, *PACKAGES]
    archive = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        file.extractall(folder, filter="data")


def figures(root: Path) -> dict[str, str]:
    """Return the figures of a source tree, by name."""
    modules = list(parsed(root))
    lines = {module.path: module.text.count("\n") for module in modules}
    lengths = sorted(length for module in modules for _, length in functions(module.tree))
    longest = max(lines, key=lambda path: lines[path])
    long = [name for module in modules for name in long_functions(module)]
    cycles = import_cycles(modules)
    return {
        "files": f"{len(modules):,}",
        "lines": f"{sum(lines.values()):,}",
        "longest file": f"{longest} ({lines[longest]} lines)",
        "functions": f"{len(lengths):,}",
        "median length of a function, lines": f"{statistics.median(lengths):g}",
        "90th percentile, lines": f"{lengths[math.ceil(0.9 * len(lengths)) - 1]}",
        f"functions over {LONG} lines": f"{len(long)}",
        "of them, without command functions": f"{sum('commands' not in name for name in long)}",
        "import cycles at run time": f"{len(cycles)}",
        "uses of Any": f"{sum(uses_of_any(module.tree) for module in modules)}",
        "docstrings not imperative (D401)": f"{not_imperative(root)}",
    }


def parsed(root: Path) -> Iterator[Module]:
    """Yield the modules of both packages."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            relative = path.relative_to(root)
            parts = relative.with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text("utf-8")
            yield Module(name, str(relative), text, ast.parse(text))


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield name and length in lines of every function and method."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def long_functions(module: Module) -> list[str]:
    """Return the functions of a module that are longer than the limit."""
    return [f"{module.name}.{name}" for name, length in functions(module.tree) if length > LONG]


def uses_of_any(tree: ast.AST) -> int:
    """Return how many times the name Any is used, imports excluded."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def import_cycles(modules: list[Module]) -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan 1972)."""
    names = {module.name for module in modules}
    edges = {module.name: imports(module, names) for module in modules}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in edges[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(component) > 1:
                found.append(component)

    for name in edges:
        if name not in index:
            visit(name)
    return found


def imports(module: Module, names: set[str]) -> set[str]:
    """Return the modules of these packages that a module imports when it is loaded."""
    found: set[str] = set()
    for node in at_load(module.tree.body):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & names
            found |= inner or {node.module}
    return (found & names) - {module.name}


def at_load(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is loaded."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        for name in ("body", "orelse", "finalbody"):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from at_load(getattr(node, name, []))


def not_imperative(root: Path) -> int:
    """Return the number of function docstrings that ruff's rule D401 reports."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "D401"]
    done = subprocess.run(
        [*command, "--output-format", "json", *PACKAGES], cwd=root, stdout=subprocess.PIPE
    )
    return len(json.loads(done.stdout))


if __name__ == "__main__":
    main()
