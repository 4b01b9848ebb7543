"""Doors and tiny trainings give what they gave when outputs.tsv was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frozen.__main__ import CASES, measure
from tests.frozen.measured import read_expected


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_an_output_stays(name: str, tmp_path: Path) -> None:
    assert measure(name, tmp_path)[0].agrees(read_expected()[name])


def test_every_case_is_kept() -> None:
    assert [*read_expected()] == [*CASES]
