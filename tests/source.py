"""The source as syntax trees, and the modules that each file imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    module_of(path): path
    for package in ("models", "attncli")
    for path in sorted((ROOT / package).rglob("*.py"))
}


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


def imported(nodes: Iterator[ast.AST]) -> Iterator[str]:
    """Return the modules that import statements name."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, "imports are absolute"
            for alias in node.names:  # `from attncli import console` names attncli.terminal.console
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in FILES else node.module
