"""A disk that is full during the conversion of a model: one line, and nothing is left."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from tests.forks import Program
from tests.models.importers import published

MOST = 50_000  # bytes of a file: the weights need more


class Full(Program):
    """The command line where no file can grow beyond MOST bytes."""

    @staticmethod
    def _run(*given: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST))
        Program._run(*given)  # type: ignore[arg-type]


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    published.marian(tmp_path / "opus", learns=False)
    home = {"XDG_DATA_HOME": str(tmp_path / "home")}
    program = Full(["models", "add", str(tmp_path / "opus")], changes=home)
    _, said = program.communicate()
    last = said.splitlines()[-1]
    assert program.returncode == 1 and last.startswith("attn: cannot write"), said
    assert "Traceback" not in said
    assert [path for path in (tmp_path / "home").rglob("*") if path.is_file()] == []
