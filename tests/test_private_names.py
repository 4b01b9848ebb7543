"""Private names of libraries that the source uses: few, each of a library with an upper bound."""

from __future__ import annotations

import ast
import atexit
import re

import torch
from sacrebleu.metrics.base import Metric

from tests.source import ROOT

# name: the library in pyproject.toml; none for Python's own
USED = {
    "_aggregate_and_compute": "sacrebleu",
    "_extract_corpus_statistics": "sacrebleu",
    "_linear_pointwise": "torch",
    "_run_exitfuncs": "",
}
PUBLIC = {"_asdict", "_exit", "_fields", "_make", "_replace"}  # in spite of their underscore
DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def private_names(tree: ast.AST) -> tuple[set[str], set[str]]:
    """Return the private attributes that a file reads, and the names that it defines."""
    read, defined = set[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, DEFINED):
            defined.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            defined.add(node.target.id)
        elif isinstance(node, ast.Attribute):
            names = read if isinstance(node.ctx, ast.Load) else defined
            names.add(node.attr)
    return {name for name in read if name[0] == "_" and not name.startswith("__")}, defined


def test_private_names_of_libraries_are_those_listed() -> None:
    files = [path for top in ("attncli", "models") for path in (ROOT / top).rglob("*.py")]
    found = [private_names(ast.parse(path.read_text("utf-8"))) for path in files]
    read, defined = (set[str]().union(*names) for names in zip(*found, strict=True))
    assert read - defined - PUBLIC == {*USED}


def test_their_libraries_have_an_upper_bound() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    for library in filter(None, {*USED.values()}):
        assert re.search(rf'^  "{library}>=[\d.]+,<\d', project, re.M), library


def test_the_installed_libraries_have_them() -> None:
    assert all(hasattr(Metric, name) for name, library in USED.items() if library == "sacrebleu")
    assert hasattr(atexit, "_run_exitfuncs")
    if torch.backends.mkldnn.is_available():  # else, `linear` is torch's own
        assert hasattr(torch.ops.mkldnn, "_linear_pointwise")
