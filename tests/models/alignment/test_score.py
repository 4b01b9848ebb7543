"""The error rate, and the floor."""

from __future__ import annotations

import pytest

from models.alignment import diagonal, error_rate


def test_the_diagonal_by_hand() -> None:
    assert diagonal(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert diagonal(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert diagonal(4, 2) == {(1, 0), (3, 1)}
    assert diagonal(0, 2) == set()


def test_the_error_rate_by_hand() -> None:
    found, sure, possible = {(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 2)}, {(1, 1)}
    assert error_rate([found], [sure], [possible]) == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert error_rate([sure], [sure]) == 0 and error_rate([found], [set()]) == 1
    assert error_rate([found, sure], [sure, sure]) == pytest.approx(1 - (2 + 4) / (5 + 4))
