"""Members equal public implementations, where these are installed; see benchmarks/parity.py."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

PARITY = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks/parity.py"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", PARITY["ROWS"], ids=lambda row: f"{row.member}-{row.package}")
def test_a_member_equals_a_public_implementation(row: Any) -> None:
    pytest.importorskip(row.package)
    assert PARITY["difference"](row) < 1e-5
