"""Rules about the source that no other tool checks: names, lengths, kinds of input."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from attncli.shell.app import COMMANDS
from models.base.registry import TABLES

ROOT = Path(__file__).parent.parent
FILES = [*sorted((ROOT / "models").rglob("*.py")), *sorted((ROOT / "attncli").rglob("*.py"))]
TREES = {path.relative_to(ROOT): ast.parse(path.read_text("utf-8")) for path in FILES}


def place_of(path: Path, name: str) -> str:
    """Return a function as module:name."""
    return f"{'.'.join(path.with_suffix('').parts)}:{name}"


def is_command(path: Path) -> bool:
    """Return True for a file of a command: a list of options, with a long function."""
    return bool({"commands", "options"} & {*path.parts}) or path.name.endswith("command.py")


LONGEST = 40  # lines of a function


def type_names(tree: ast.Module) -> Iterator[str]:
    """Yield the public classes of a module, and its names for types."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name[0].isupper() and not name.isupper():
                yield name


def test_no_type_name_means_two_things() -> None:
    same = {"Writer", "Variables"}  # one meaning, stated for each kind of result
    same |= {"Translator", "Captioner", "Classifier"}  # attncli.interface: those of models
    files = defaultdict(list)
    for path, tree in TREES.items():
        if not is_command(path):
            for name in type_names(tree):
                files[name].append(str(path))
    assert not {name: paths for name, paths in files.items() if len(paths) > 1 and name not in same}


def test_no_function_is_long_but_lists_of_options() -> None:
    long = [
        f"{path}: {node.name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or node.lineno) - node.lineno >= LONGEST
        and place_of(path, node.name) not in COMMANDS.values()
    ]
    assert not long


INNER_IMPORTS = 136  # of our own modules: those that import torch, or that one option alone needs


def test_imports_inside_functions_do_not_grow_in_number() -> None:
    inside = {
        id(node)
        for tree in TREES.values()
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(("models", "attncli"))
    }
    assert len(inside) <= INNER_IMPORTS


def test_only_the_kinds_of_input_distinguish_kinds_of_input() -> None:
    """No other file compares a source with a kind's name, or asks which encoder a model has."""
    kinds = {repr(kind) for kind in TABLES["source"]}
    for path, tree in TREES.items():
        if {"sources", "encoders", "tasks"} & {*path.with_suffix("").parts}:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                sides = {ast.unparse(side) for side in (node.left, *node.comparators)}
                named = any("source" in side or "task" in side for side in sides - kinds)
                assert not (named and sides & kinds), f"{path}: {ast.unparse(node)}"
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                assert "ImageEncoder" not in ast.unparse(node), f"{path}: {ast.unparse(node)}"
            elif isinstance(node, ast.Constant):
                assert node.value != "encoder.body.", path
