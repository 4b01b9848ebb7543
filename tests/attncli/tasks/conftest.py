"""The command line in the process of the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attncli.shell import app


@pytest.fixture
def attn(capfd: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return a function that runs `attn` with words, and returns what it wrote: `out` and `err`.

    status: exit status that the run must have.
    """

    def run(*words: str | Path, status: int = 0) -> Any:
        capfd.readouterr()
        assert app.run([*map(str, words)]) == status
        return capfd.readouterr()

    return run
