"""Rules about the source that no other tool checks: imports, names, lengths, kinds of input."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from attncli.shell.app import COMMANDS
from attncli.task.table import TASKS
from models.core.registry import TABLES
from tests.source import FILES, ROOT, imported, tree

ROOMS = [  # each may import those above it in this list
    "models.core",
    "models.attention",
    "models.text",
    "models.signals",
    "models.search",
    "models.storage",
    "models.networks",
    "models.engines",
    "models.alignment",
    "models.align_train",
    "models.explain",
    "models.speech",
    "models.several_inputs",
    "models.importers",
    "models",
    "attncli.task",
    "attncli.terminal",
    "attncli.faithful",
    "attncli.data",
    "attncli.scoring",
    "attncli.render",
    "attncli.training",
    "attncli.options",
    "attncli.tasks",  # the folder of each task
    "attncli.train",
    "attncli.loggers",
    "attncli.fine_tuning",
    "attncli.several_inputs",
    "attncli.importers",
    "attncli.interface",
    "attncli.documents",
    "attncli.bulk",
    "attncli.compare",
    "attncli.align_train",
    "attncli.catalogue",
    "attncli.serve",
    "attncli.processes",
    "attncli.shell",
]
RANKS = {room: rank for rank, room in enumerate(ROOMS)}
MAX_FILES = 24  # of a folder
NAMELESS = {"attncli", "attncli.version", "attncli.__main__"}  # no room: version, load, start


def room(module: str) -> str:
    """Return the longest entry of ROOMS that a module belongs to."""
    if module in {"models", *NAMELESS}:
        return module
    parts = module.split(".")
    if parts[0] == "attncli" and {*parts[1:2]} & {*TASKS}:
        return "attncli.tasks"
    prefixes = [".".join(parts[:length]) for length in range(len(parts), 1, -1)]
    found = [prefix for prefix in prefixes if prefix in RANKS]
    assert found, f"{module} has no place in ROOMS of {Path(__file__).name}: give it one"
    return found[0]


def test_imports_run_downwards() -> None:
    found = [line for module in FILES if module not in NAMELESS for line in upward_imports(module)]
    assert found == []


def upward_imports(module: str) -> Iterator[str]:
    """Yield a message for each import of a module that is missing or in a room below."""
    here = room(module)
    for name in imported(ast.walk(tree(module))):
        if name.split(".")[0] not in ("models", "attncli") or name in NAMELESS:
            continue
        if name not in FILES:
            yield f"{module} imports {name}, which is not there"
        elif module == "models":  # the facade hands out what lies under it
            if not name.startswith("models."):
                yield f"{module} imports {name}"
        elif RANKS[room(name)] > RANKS[here]:
            yield f"{module} imports {name}"


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = {
        module: {name for name in imported(ast.walk(tree(module))) if name in FILES} - {module}
        for module in FILES
    }
    while graph:
        free = {module for module, names in graph.items() if not names & graph.keys()}
        assert free, f"a circle among {sorted(graph)}"
        graph = {module: names for module, names in graph.items() if module not in free}


def test_helpers_of_tests_have_files_of_their_own() -> None:
    for path in (ROOT / "tests").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        found = [name for name in imported(nodes) if ".test_" in name]
        assert not found, f"{path} imports {found}"


def test_private_files_are_used_by_their_own_room_alone() -> None:
    """A file that begins with an underscore is private to its folder; the others are its doors."""
    for module in FILES:
        nodes = [*ast.walk(tree(module))]
        texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
        tables = (text.partition(":")[0] for text in texts if isinstance(text, str))
        for name in FILES.keys() & {*imported(iter(nodes)), *tables}:
            own = module.split(".")[:2] == name.split(".")[:2]
            assert (
                own
                or not FILES[name].name.startswith("_")
                or FILES[name].stem
                in (
                    "__init__",
                    "__main__",
                )
            ), f"{module} uses {name}, which is private to its folder"


def test_every_room_is_there() -> None:
    used = {room(module) for module in FILES if module not in NAMELESS}
    assert used == set(RANKS)


LOUD = {"attncli", "typer", "click", "rich", "tqdm", "logging", "pickle"}  # not in the library
SPEECH = {"print", "exit", "quit", "input"}
SPEECH |= {"sys.exit", "sys.stdout", "sys.stderr", "torch.load"}
PUBLISHED = "models.importers._weights"  # reads published weights, without running code in them


def test_the_library_neither_talks_nor_exits() -> None:
    library = [module for module in FILES if module.startswith("models")]
    found = [
        f"{module}: {name}"
        for module in library
        for name in sorted(names_in(module) & (SPEECH | LOUD))
    ]
    assert found == [f"{PUBLISHED}: pickle", f"{PUBLISHED}: torch.load"]
    calls = re.findall(r"torch\.load\(.*\)", FILES[PUBLISHED].read_text(encoding="utf-8"))
    assert calls and all("weights_only=True" in call for call in calls)


WORK = {"tasks", "train", "bulk", "compare", "catalogue", "align_train", "importers"}
WORK = {f"attncli.{name}" for name in WORK} | {"attncli.several_inputs", "attncli.options.loading"}
DISPLAYS = {"attncli.train.display", "attncli.train._vectors"}


def test_jobs_report_through_the_object_that_a_command_passes() -> None:
    console = "attncli.terminal.console"
    work = [module for module in FILES if {room(module), module} & WORK]
    found = [
        f"{module}: {name}"
        for module in work
        if not module.endswith("command") and module not in DISPLAYS
        for name in sorted(names_in(module) & {console, "print", "sys.stderr"})
    ]
    assert found == []


@cache
def names_in(module: str) -> set[str]:
    """Return the names of a module, its attributes of names, and the roots of its imports."""
    nodes = list(ast.walk(tree(module)))
    places = list(imported(iter(nodes)))
    found = {*places, *(place.split(".")[0] for place in places)}
    for node in nodes:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(f"{node.value.id}.{node.attr}")
    return found


def test_no_folder_is_crowded() -> None:
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in FILES.values())
    assert not {folder: count for folder, count in counts.items() if count > MAX_FILES}


def is_command(module: str) -> bool:
    """Return True for a module of a command: a list of options, with a long function."""
    return bool({"commands", "options"} & {*module.split(".")}) or module.endswith("command")


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
    # attncli.interface, and that of speech: those of models
    same |= {"Translator", "Captioner", "Classifier", "SpeechModel"}
    files = defaultdict(list)
    for module in FILES:
        if not is_command(module):
            for name in type_names(tree(module)):
                files[name].append(module)
    assert not {name: paths for name, paths in files.items() if len(paths) > 1 and name not in same}


def test_no_function_is_long_but_lists_of_options() -> None:
    long = [
        f"{module}: {node.name}"
        for module in FILES
        for node in ast.walk(tree(module))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or node.lineno) - node.lineno >= LONGEST
        and f"{module}:{node.name}" not in COMMANDS.values()
    ]
    assert not long


INNER_IMPORTS = 136  # of our own modules: those that import torch, or that one option alone needs


def test_imports_inside_functions_do_not_grow_in_number() -> None:
    inside = {
        id(node)
        for module in FILES
        for function in ast.walk(tree(module))
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(("models", "attncli"))
    }
    assert len(inside) <= INNER_IMPORTS


def test_only_the_kinds_of_input_distinguish_kinds_of_input() -> None:
    """No other file compares a source with a kind's name, or asks which encoder a model has."""
    kinds = {repr(kind) for kind in TABLES["source"]}
    for module in FILES:
        if room(module) == "attncli.tasks" or module.endswith(("sources", "image_encoder")):
            continue
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.Compare):
                sides = {ast.unparse(side) for side in (node.left, *node.comparators)}
                named = any("source" in side or "task" in side for side in sides - kinds)
                assert not (named and sides & kinds), f"{module}: {ast.unparse(node)}"
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                assert "ImageEncoder" not in ast.unparse(node), f"{module}: {ast.unparse(node)}"
            elif isinstance(node, ast.Constant):
                assert node.value != "encoder.body.", module


def test_the_makefile_imports_what_is_there() -> None:
    found = re.findall(r"from (attncli[\w.]*) import (\w+)", (ROOT / "Makefile").read_text("utf-8"))
    assert found and all(f"{package}.{module}" in FILES for package, module in found)
