"""Fixtures of the tests of the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.workplace import write_workplace


@pytest.fixture
def workplace(tmp_path: Path, toy_classifier: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder: the files and models that the documentation names."""
    write_workplace(tmp_path, toy_classifier)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path
