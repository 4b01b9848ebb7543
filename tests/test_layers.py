"""Imports run downwards only, and the library keeps quiet."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = [  # each may import those above it in this list, and its own kind
    ["models.errors", "models.places", "attncli.own_models"],
    [
        "models.heic",
        "models.inference.normalise",
        "models.interruptible",
        "models.limits",
        "models.parsing",
        "models.processors",
    ],
    ["models.files", "models.registry"],
    ["models.settings", "models.products", "models.join", "models.log_sum_exp"],
    ["models.config"],
    ["models.languages"],
    [
        "models.types",
        "models.zoo",
        "models.tokenizer",
        "models.dropout",
        "models.linear",
        "models.transfer",
    ],
    ["models.deferred"],
    ["models.labels", "models.layers", "models.sources"],
    ["models.token_map"],
    ["models.packed"],
    ["models.unused_settings", "models.bundle.digests"],
    ["models.bundle.settings"],
    ["models.bundle.precision", "models.installed"],
    ["models.bundle.weights"],
    ["models.attention", "models.cells"],
    ["models.encoders", "models.pooling"],
    ["models.decoders"],
    ["models.model"],
    ["models.loss"],
    ["models.alignment.units", "models.r_drop", "models.subwords"],
    ["models.families", "models.inference.backend", "models.inference.hypotheses"],
    ["models.inference.finished", "models.inference.top_tokens"],
    ["models.inference.rounded_output", "models.inference.sampling"],
    ["models.inference.search"],
    ["models.bundle"],
    ["models.images", "models.views"],
    ["models.inference"],
    ["models.onnx"],
    ["models.alignment"],
    ["models"],
    ["attncli.escapes", "attncli.plurals", "attncli.termination"],
    ["attncli.console", "attncli.overrides", "attncli.help_page"],
    ["attncli.tags", "attncli.documents"],
    ["attncli.embedded"],
    ["attncli.data"],
    ["attncli.scoring"],
    ["attncli.render", "attncli.options"],
    ["attncli.training"],
    ["attncli.jobs"],
    ["attncli.bulk"],
    ["attncli.commands"],
    ["attncli.completion", "attncli.conversion"],
    ["attncli.app"],
    ["attncli.__main__"],
]
RANKS = {prefix: rank for rank, layer in enumerate(LAYERS) for prefix in layer}
PROGRAMS = "models.onnx.examples."  # written beside an exported model
SILENCES = {"models.onnx.trace"}  # turns off the messages of other packages
NAMELESS = {"attncli"}  # holds the version and load: anyone may ask for the version


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
            for alias in node.names:  # `from attncli import console` names attncli.console
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in FILES else node.module


def at_import(nodes: list[ast.stmt]) -> Iterator[ast.AST]:
    """Return the statements that run when a module is imported."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from at_import(getattr(node, part, []))


def layer(module: str) -> str:
    """Return the longest entry of LAYERS that a module belongs to."""
    if module == "models":
        return "models"
    parts = module.split(".")
    prefixes = [".".join(parts[:length]) for length in range(len(parts), 1, -1)]
    found = [prefix for prefix in prefixes if prefix in RANKS]
    assert found, f"{module} has no place in LAYERS of {Path(__file__).name}: give it one"
    return found[0]


@pytest.mark.parametrize("module", [module for module in FILES if module not in NAMELESS])
def test_imports_run_downwards(module: str) -> None:
    here = layer(module)
    for name in imported(ast.walk(tree(module))):
        if name.split(".")[0] not in ("models", "attncli") or name in NAMELESS:
            continue
        assert name in FILES, f"{module} imports {name}, which is not there"
        there = layer(name)
        if module == "models":  # the facade hands out what lies under it
            assert name.startswith("models.")
            continue
        assert there == here or RANKS[there] < RANKS[here], f"{module} imports {name}"


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = {
        module: {name for name in imported(at_import(tree(module).body)) if name in FILES}
        for module in FILES
    }
    while graph:
        free = {module for module, names in graph.items() if not names & graph.keys()}
        assert free, f"a circle among {sorted(graph)}"
        graph = {module: names for module, names in graph.items() if module not in free}


def test_every_layer_is_there() -> None:
    used = {layer(module) for module in FILES if module not in NAMELESS}
    assert used == set(RANKS)


@pytest.mark.parametrize(
    "module",
    [name for name in FILES if name.startswith("models") and not name.startswith(PROGRAMS)],
)
def test_the_library_neither_talks_nor_exits(module: str) -> None:
    roots = {name.split(".")[0] for name in imported(ast.walk(tree(module)))}
    if module in SILENCES:
        roots -= {"logging"}
    assert not roots & {"attncli", "typer", "click", "rich", "tqdm", "logging", "pickle"}
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Name):
            assert node.id not in ("print", "exit", "quit", "input"), module
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            place = f"{node.value.id}.{node.attr}"
            assert place not in ("sys.exit", "sys.stdout", "sys.stderr", "torch.load"), module
