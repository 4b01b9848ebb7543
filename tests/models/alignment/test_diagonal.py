"""The diagonal baseline."""

from __future__ import annotations

from models.alignment import diagonal


def test_the_diagonal_by_hand() -> None:
    assert diagonal(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert diagonal(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert diagonal(4, 2) == {(1, 0), (3, 1)}
    assert diagonal(0, 2) == set()
