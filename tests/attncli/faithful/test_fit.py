"""Outputs begin and end as their sources."""

from __future__ import annotations

import pytest

from attncli.faithful.fit import Fitting, fitted


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("Stop!!! It is here!!!", "Arrête ! ! ! Il est ici ! ! ! ! !", "Arrête !!! Il est ici !!!"),
        ("Really???", "Wirklich??", "Wirklich???"),
        ("What?!", "Was!!", "Was?!"),
        ("Help!! Come!", "Hilfe!", "Hilfe!"),  # another number of runs
        ("No!", "Nein!", "Nein!"),
        ("Why? Go!", "¿Por qué? ¡Ve!", "¿Por qué? ¡Ve!"),
    ],
)
def test_runs_of_signs_are_as_long_as_in_the_source(
    source: str, output: str, expected: str
) -> None:
    form = Fitting(ends=True, capitals=True, is_small=lambda word: True)
    assert fitted(("", ""), [source], [output], form) == [expected]
