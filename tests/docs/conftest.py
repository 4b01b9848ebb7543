"""Fixtures of the tests of the documentation."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from attncli.train import estimate
from tests.docs.workplace import write_workplace


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory, toy_classifier: Path) -> Path:
    """Return a folder with the files and models that the documentation names; to be copied."""
    folder = tmp_path_factory.mktemp("workplace")
    write_workplace(folder, toy_classifier)
    return folder


@pytest.fixture
def workplace(tmp_path: Path, written: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder: links to the files and models that the documentation names.

    The program replaces files, and never writes into one that exists.
    """
    shutil.copytree(written, tmp_path, symlinks=True, dirs_exist_ok=True, copy_function=os.link)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(estimate, "timed_updates", lambda *run: (1.0,))  # of large models, too
    monkeypatch.setattr(estimate, "timed_scoring", lambda *run, **options: 0.1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path
