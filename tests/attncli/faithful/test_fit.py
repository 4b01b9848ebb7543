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
        ('(He said "no".)', '(Er sagte "nein".', '(Er sagte "nein".)'),
        ('Type "exit".', "Tapez « exit.", "Tapez « exit »."),
        ('"No!"', "„Nein!", "„Nein!“"),
        ('"A" and (b)', '"A und (b)', '"A und (b)'),  # another pair is open
        ("in ‘bold’ style", "im Stil ‘fett'", "im Stil ‘fett’"),
        ('It is 27"', 'Es ist 27"', 'Es ist 27"'),
    ],
)
def test_signs_are_as_many_as_in_the_source_and_in_pairs(
    source: str, output: str, expected: str
) -> None:
    form = Fitting(ends=True, capitals=True, is_small=lambda word: True)
    assert fitted(("", ""), [source], [output], form) == [expected]
