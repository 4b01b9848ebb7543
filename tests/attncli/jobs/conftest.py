"""Fixtures of training tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attncli.training.small import Texts, write_texts


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    """Return data for a short run."""
    return write_texts(tmp_path)
