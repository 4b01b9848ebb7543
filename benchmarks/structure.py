"""Figures about the structure of the source: sizes, imports, types and docstrings.

    python benchmarks/structure.py                 # the working tree
    python benchmarks/structure.py 8835d3f HEAD    # git revisions, one column each

Lengths of functions are counted from `def` to the last line, docstring included. Import cycles are
counted among imports that run when a module is loaded; imports under TYPE_CHECKING and inside
functions are left out. A docstring of a function is imperative by pydocstyle's rule D401, as
computed by ruff.

Options are counted on the help pages of all commands together, settings in the configuration of a
run. A room is a folder with source files; files of a package's top folder are a room each.
Functions that take the whole configuration are those with a parameter of type RunConfig.
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
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGES = ("attncli", "models")
TESTS = "tests"
LONG = 40  # lines of a function
CROWDED = 15  # files of a room
SETTINGS = """
import dataclasses, importlib
def leaves(kind):
    hints = [field.default_factory for field in dataclasses.fields(kind)]
    return sum(leaves(h) if dataclasses.is_dataclass(h) else 1 for h in hints)
for place in ("attncli.training.settings.config", "attncli.training.run.command_line.config"):
    try:
        print(leaves(importlib.import_module(place).RunConfig))
    except ImportError:
        pass
"""
HELP = """
import contextlib, importlib, io, os
os.environ.update(COLUMNS="80", TERM="dumb")
for place in ("attncli." + "app", "attncli.shell.app"):
    try:
        app = importlib.import_module(place)
    except ImportError:
        continue
    for name in app.COMMANDS:
        with contextlib.redirect_stdout(io.StringIO()) as page, contextlib.suppress(SystemExit):
            app.run([*name.split(), "--help"])
        rows = page.getvalue().splitlines()
        options = sum(row.startswith("  -") for row in rows)
        print(options, len(rows), name, sep="\\t")
"""


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
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", revision, *PACKAGES, TESTS]
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
    pages = [row.split("\t") for row in printed(root, HELP)]
    most = max(pages, key=lambda page: int(page[0]))
    circles = circles_of(room_edges(modules))
    return {
        "files": f"{len(modules):,}",
        "lines": f"{sum(lines.values()):,}",
        "lines of tests": f"{lines_below(root / TESTS):,}",
        "settings of a run": "".join(printed(root, SETTINGS)),
        "options on help pages": f"{sum(int(page[0]) for page in pages)}",
        "longest help page": f"{most[2]} ({most[0]} options, {most[1]} lines)",
        "functions that take RunConfig": f"{sum(map(takes_whole_config, modules))}",
        "imports inside functions": f"{sum(map(inner_imports, modules))}",
        "rooms in circles": ", ".join(str(len(circle)) for circle in circles) or "0",
        f"rooms with more than {CROWDED} files": ", ".join(crowded(modules)) or "0",
        "longest file": f"{longest} ({lines[longest]} lines)",
        "functions": f"{len(lengths):,}",
        "median length of a function, lines": f"{statistics.median(lengths):g}",
        "90th percentile, lines": f"{lengths[math.ceil(0.9 * len(lengths)) - 1]}",
        f"functions over {LONG} lines": f"{len(long)}",
        "of them, without command functions": f"{sum(not is_command(name) for name in long)}",
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


def is_command(name: str) -> bool:
    """Return True for a function of a module of commands, whose length is that of its options."""
    module = name.rpartition(".")[0]
    return "commands" in module or module.endswith("command")


def uses_of_any(tree: ast.AST) -> int:
    """Return how many times the name Any is used, imports excluded."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def import_cycles(modules: list[Module]) -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan 1972)."""
    names = {module.name for module in modules}
    return circles_of({module.name: imports(module, names) for module in modules})


def circles_of(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one node (Tarjan 1972)."""
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


def printed(root: Path, code: str) -> list[str]:
    """Return the lines that a program prints, run on the packages of a source tree."""
    program = f"import sys; sys.path.insert(0, {str(root)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", program], cwd=root, stdout=subprocess.PIPE)
    return done.stdout.decode().splitlines()


def lines_below(folder: Path) -> int:
    """Return the number of lines of all Python files below a folder."""
    return sum(path.read_text("utf-8").count("\n") for path in folder.rglob("*.py"))


def takes_whole_config(module: Module) -> int:
    """Return the number of functions of a module that have a parameter of type RunConfig."""
    return sum(
        any(a.annotation and "RunConfig" in ast.unparse(a.annotation) for a in node.args.args)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def inner_imports(module: Module) -> int:
    """Return the number of import statements inside functions, each counted once."""
    inside = {
        id(node)
        for function in ast.walk(module.tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return len(inside)


def room_of(module: Module) -> str:
    """Return the folder of a module; a file of a package's top folder is a room of its own."""
    folder = str(Path(module.path).parent)
    return module.path if folder in PACKAGES else folder


def room_edges(modules: list[Module]) -> dict[str, set[str]]:
    """Return the rooms that each room imports, inside functions too, but not for types alone."""
    rooms = {module.name: room_of(module) for module in modules}
    edges: dict[str, set[str]] = {room: set() for room in rooms.values()}
    for module in modules:
        own = room_of(module)
        edges[own] |= {rooms[name] for name in all_imports(module, set(rooms))} - {own}
    return edges


def all_imports(module: Module, names: set[str]) -> set[str]:
    """Return the modules of these packages that a module imports at any time."""
    typing_only = {
        id(node)
        for block in ast.walk(module.tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in typing_only:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & names
            found |= inner or {node.module}
    return (found & names) - {module.name}


def crowded(modules: list[Module]) -> list[str]:
    """Return the rooms with too many files, and their number of files."""
    counts = Counter(room_of(module) for module in modules)
    return [f"{room} ({count})" for room, count in sorted(counts.items()) if count > CROWDED]


def not_imperative(root: Path) -> int:
    """Return the number of function docstrings that ruff's rule D401 reports."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "D401"]
    done = subprocess.run(
        [*command, "--output-format", "json", *PACKAGES], cwd=root, stdout=subprocess.PIPE
    )
    return len(json.loads(done.stdout))


if __name__ == "__main__":
    main()
