"""What a check names is wrong, and a right translation is not named."""

from __future__ import annotations

from random import Random

import pytest

from attncli.faithful.checks import NAMES, check, check_marked, check_plain
from attncli.faithful.protect import protect
from tests.attncli.faithful.small import line

TABLE = [
    ("It costs 1,234.56", "Es kostet 1.234,56", ""),
    ("It costs 1,234.56", "Es kostet 1.243,56", "digits"),
    ("12 dogs", "21 Hunde", "digits"),
    ("300,000 yen", "30.000 Yen", "digits"),
    ("in 1473", "damals", "digits"),
    ("Your PIN is 4711.", "Ihre PIN ist.", "digits"),
    ("10,000 men", "10 000 hommes", ""),
    ("14 000 soldats et 2 hommes", "14,000 soldiers and 2 men", ""),
    ("1 000 et 10 000", "10,000 and 1,000", ""),
    ("at 08:30", "um 8.30 Uhr", ""),
    ("at 7 p.m.", "um 19 Uhr", ""),
    ("at 7 p.m.", "um 20 Uhr", "digits"),
    ("at 5 p.m.", "um 17:00", ""),
    ("It's 3:30.", "Es ist halb vier.", ""),
    ("You have twelve dogs", "Du hast 12 Hunde", ""),
    ("I spent 100 dollars", "hundert Dollar", ""),
    ("no more than 1,000", "no más de mil", ""),
    ("I'm 25 years old", "vingt-cinq ans", ""),
    ("the 3.5 and 4", "die 35 und 4", "digits"),
    ("Press %s", "Drücke", "parts"),
    ("Press %s", "Drücke %s", ""),
    ('Press "%s"', "Drücke „%s“", ""),
    ("See https://a.org/b?c=1 now", "Sieh https://a.org/b?c=2", "parts"),
    ("<b>a</b>", "<b>b", "tags"),
    ("<b>a</b> <i>b</i>", "<i>b</i> <b>a</b>", ""),
    ("the dog", "…", "empty"),
    ("…", "", ""),
    ("the dog", "a b c a b c a b c", "repetition"),
    ("ha ha ha ha ha ha", "ha ha ha ha ha ha", ""),
    ("the dog " * 20, "der", "length"),
    ("the dog", "der Hund und " + "noch ein anderer großer Hund " * 3, "repetition length"),
    ("the dog", "der \ufffd Hund", "characters"),
]


@pytest.mark.parametrize(("source", "output", "names"), TABLE)
def test_a_check_names_what_is_wrong(source: str, output: str, names: str) -> None:
    assert [one.name for one in check(source, output)] == names.split()
    assert not set(names.split()) - set(NAMES)


def test_every_check_is_in_the_table() -> None:
    assert {name for *_, names in TABLE for name in names.split()} == {*NAMES}


@pytest.mark.parametrize(
    ("source", "output", "found"),
    [
        ("{a} and {b}", "1 0", ""),
        ("{a} and {b}", "0", "{b} is missing"),
        ("{a} and {b}", "0 1 0", "{a} is repeated"),
        ("%s and %d", "1 0", "another order of placeholders without numbers"),
        ("%1$s and %2$d", "1 0", ""),
        ("%s and %s", "1 0", ""),
    ],
)
def test_marks_are_compared_one_by_one(source: str, output: str, found: str) -> None:
    text, parts = protect(source)
    for n in range(len(parts)):
        output = output.replace(str(n), f"x {chr(0xE000 + n)}")
    assert [(one.name, one.found) for one in check_marked(text, output, parts)] == (
        [("parts", found)] if found else []
    )


def test_a_text_passes_the_check_of_its_own_translation_by_copying() -> None:
    random = Random(4)
    for _ in range(300):
        text = line(random)
        assert not [one for one in check_plain(text, text) if one.name != "empty"]
        assert not [one for one in check(text, text) if one.name != "empty"], text


def test_numbers_of_any_length_are_compared() -> None:
    long = "1" * 5000  # Python refuses to convert more than 4,300 digits
    assert check(f"a {long}", f"b {long}") == ()
    [found] = check_plain(f"a {long}", f"b {long}2")
    assert found.name == "digits"
