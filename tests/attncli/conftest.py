"""Fixtures of tests that train."""

from __future__ import annotations

import pytest

from attncli.training.run import final_model as finish


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an empty file instead of the curves, which take longer than the run."""
    monkeypatch.setattr(finish, "curves", lambda path, history: path.touch())
