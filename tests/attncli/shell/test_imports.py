"""What is imported: no torch before a command is called, and no module of the current folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from attncli.commands.train_run import PROGRAM
from attncli.shell.app import COMMANDS


def test_no_command_imports_torch_before_it_is_called() -> None:
    places = [place.partition(":")[0] for place in COMMANDS.values()]
    code = (
        "import sys, importlib\n"
        f"for name in {sorted(set(places))}:\n"
        "    importlib.import_module(name)\n"
        "    assert 'torch' not in sys.modules, name\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return a folder with another package `models`."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text("")
    return tmp_path


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).parents[2])
    found = f"import sys; sys.path.append({root!r}); {code}"
    return subprocess.run([sys.executable, "-c", found], cwd=folder, capture_output=True, text=True)


def test_attncli_imports_its_own_models_beside_another_package(elsewhere: Path) -> None:
    code = "from attncli import load; import models.core.errors; print(load.__module__)"
    done = python(code, elsewhere)
    assert (done.returncode, done.stdout) == (0, "attncli.interface\n"), done.stderr


def test_another_package_imported_before_is_named_in_one_line(elsewhere: Path) -> None:
    done = python("import models; import attncli", elsewhere)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("ImportError:")]
    assert done.returncode == 1 and str(elsewhere / "models" / "__init__.py") in line


@pytest.mark.parametrize("words", [["models", "show", "dot"], ["translate", "--help"]])
def test_a_child_runs_no_module_of_the_current_folder(words: list[str], tmp_path: Path) -> None:
    """Neither of Python nor of attn; see attncli.commands.train_run.launch."""
    for name in (*sorted(sys.stdlib_module_names), "attncli", "models", "torch", "numpy"):
        (tmp_path / f"{name}.py").write_text("open('EXECUTED', 'w').close()")
    command = [sys.executable, "-I", "-c", PROGRAM.format([*map(str, sys.path)]), *words]
    assert subprocess.run(command, cwd=tmp_path, stdout=subprocess.DEVNULL).returncode == 0
    assert not (tmp_path / "EXECUTED").exists()
