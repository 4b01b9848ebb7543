"""The package of docs/package is built and installed, passes its test, and is used by `attn`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")


@pytest.mark.slow
def test_the_package_is_built_installed_and_used(tmp_path: Path) -> None:
    source, site = shutil.copytree(ROOT / "docs/package", tmp_path / "source"), tmp_path / "site"
    alone = ("--no-index", "--no-deps")
    done([*PIP, "wheel", *alone, "--no-build-isolation", "-w", ".", "."], source)
    [wheel] = source.glob("*.whl")
    done([*PIP, "install", *alone, "--target", str(site), wheel.name], source)
    (source / "attn_manhattan.py").unlink()  # so that the installed one is imported
    paths = {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    done([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], source, **paths)
    attn = [sys.executable, "-m", "attncli", "models"]
    assert "manhattan" not in done(attn, tmp_path, **paths)
    named = {**paths, "ATTN_PACKAGES": "attn-manhattan"}
    assert "manhattan" in done(attn, tmp_path, **named)
    train = [*attn[:-1], "train", "-p", "luong-nano", "--dry-run", "-s", "data.demo_size=60"]
    assert "on this machine" in done(
        [*train, "-s", "model.attention.score=manhattan"], tmp_path, **named
    )


def done(command: list[str], folder: Path, **environment: str) -> str:
    """Run a command in a folder and return stdout; fail if it fails."""
    environment = {**os.environ, **environment}
    found = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout
