"""Fixtures of training tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.training import finish
from tests.attncli.training.small import Texts, write_texts


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    """Return data for a short run."""
    return write_texts(tmp_path)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an empty file instead of the curves, which take longer than the run."""
    monkeypatch.setattr(finish, "curves", lambda path, history: path.touch())
