"""Fixtures of the tests of bulk jobs."""

from __future__ import annotations

import pytest

from attncli.bulk.engines import local
from tests.attncli.bulk import in_process


@pytest.fixture
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the job process its shards itself."""
    monkeypatch.setattr(local, "process", in_process.process)
