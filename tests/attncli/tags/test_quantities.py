"""A quantity keeps its number and its unit, and a time its half of the day."""

from __future__ import annotations

import pytest

from attncli.tags.checks import check_plain
from attncli.tags.protect import Languages, protect, restore
from attncli.tags.quantities import STYLES, clock, measures, written
from attncli.tags.stand_ins import stand_ins

GERMAN = Languages("en", "de", quantities=True)
WRITTEN = [
    ("5 GB", "fr", "5 Go"),
    ("2.5ml", "de", "2,5 ml"),
    ("6 ft 2 lb", "es", "6 pies 2 libras"),
    ("10-15 kg", "fr", "10-15 kg"),
    ("1 1/2 lb", "fr", "1 1/2 livres"),
    ("-5.5 °C", "de", "-5,5 °C"),
    ("6.5 l/100 km", "de", "6,5 l/100 km"),
    ("EUR 1,234.50", "de", "1.234,50 EUR"),
    ("20 USD", "es", "20 USD"),
    ("12 a.m.", "de", "0 Uhr"),
    ("12:30 p.m.", "fr", "12 h 30"),
    ("9-11 a.m.", "es", "9:00–11:00"),
    ("9-2 p.m.", "es", "9:00–14:00"),
    ("9 a.m. to 5 p.m.", "de", "9 bis 17 Uhr"),
    ("No. 5", "de", "Nr. 5"),
    ("no. 12-A", "fr", "n° 12-A"),
]


@pytest.mark.parametrize(("text", "target", "expected"), WRITTEN)
def test_a_quantity_is_written_as_in_its_language(text: str, target: str, expected: str) -> None:
    text, parts = protect(f"so {text} it", languages=Languages("en", target, quantities=True))
    assert restore(text, parts) == f"so {expected} it"


@pytest.mark.parametrize("target", STYLES)
def test_every_unit_is_taken_out_and_a_lost_one_is_found(target: str) -> None:
    for sign in measures():
        source, output = f"it is 5 {sign}, so", written(f"5 {sign}", "en", target)
        text, parts = protect(source, languages=GERMAN, lazy=True)
        assert [part.raw for part in parts] == [f"5 {sign}"] and text.startswith("it is ")
        assert not check_plain(source, f"es {output}, so") or sign[-1] in "23", sign
        assert check_plain(source, "es ist 5 wurf, so"), sign


@pytest.mark.parametrize(
    "text", ["3 in my bag", "the 5 A Street", "5 more", "$5 m", "I say no.", "5 a day"]
)
def test_words_are_no_units(text: str) -> None:
    assert not any(" " in part.raw for part in protect(text, languages=GERMAN).parts)


def test_a_time_is_read_as_a_time_and_keeps_the_stop_of_its_sentence() -> None:
    text, parts = protect("We close at 5 p.m.", languages=GERMAN)
    read = stand_ins(text, parts, 0)
    assert read.text == "We close at 17:00."
    for output in ("um 17:00.", "um 17:00 Uhr.", "um 17 h.", "um 17 h 00."):
        assert restore(read.marked(output, parts)[0], parts) == "um 17 Uhr."
    assert clock("9-11 a.m.") == ""


@pytest.mark.parametrize(
    ("source", "output", "passes"),
    [
        ("at 7 pm", "um 19 Uhr", True),
        ("at 7 pm", "a las 7 de la tarde", True),
        ("at 7 pm", "en 7.", False),
        ("at 7 pm", "a las 19:00", True),
        ("12 a.m. is late", "12 Uhr ist", False),
        ("use 12-A now", "use la 12 a", False),
        ("use 12-A now", "use la 12-A", True),
        ("it has 5,000 mAh now", "il a 5 000 mAh là", True),
        ("it has 5,000 mAh now", "il a 5 000 mois là", False),
        ("only 20% came", "nur 20 kamen", False),
        ("only 20% came", "nur 20 Prozent kamen", True),
        ("the 5TH day", "der 5. Tag", True),
    ],
)
def test_a_lost_half_of_the_day_or_code_is_found(source: str, output: str, passes: bool) -> None:
    assert bool(check_plain(source, output)) != passes
