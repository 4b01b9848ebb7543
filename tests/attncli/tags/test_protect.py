"""Protected parts: what is taken out of a text comes back as it was, and nothing else changes."""

from __future__ import annotations

from random import Random

import pytest

from attncli.tags.checks import check, check_plain
from attncli.tags.protect import protect, restore
from attncli.tags.quantities import localised
from attncli.tags.stand_ins import shifted, stand_ins
from tests.attncli.tags.small import line

EMOJI = ["❤️", "☀️", "⚠️", "1️⃣", "🐈\u200d⬛", "👍🏽", "🇩🇪", "→", "|", "\\", "^", "#️⃣"]
CODES = r"""
%'d %1$s %-5.2f %(x)s %@ %% {x} {{x}} ${x} %{x} %name% __name__ :count $1 @user #tag %Y-%m-%d [x]
{0:.2f} https://a.b/c%20d?x=y a.b+c@d-e.org /usr/lib/x.so C:\tmp\a.txt ~/x src/main.py setup.py
8f3K-22Lq-PPa9 550e8400-e29b-41d4-a716-446655440000 max_value 1.10.0-rc.1 v3.2.1 3.2.1 de-DE en_US
2024-05-01 2024-05-01T10:00:00Z 86988827 26,888 €8,311 H₂O x^2 _____ da39a3ee5e6b4b0d 192.168.0.1
COBADEFFXXX 030/1234567 --all
"""
SPACED = ["<%= x %>", "`ls -l`", "DE89 3704 0044 0532 0130 00", "+49 (0)30 1234 5678"]
SPACED += ["(555) 123-4567", "4111 1111 1111 1111", "B-MW 1234", "AB12 CDE", "SW1A 1AA"]
QUOTED = ["{{ a | b('c') }}", '\\"%s\\"', "'{x}'", '"%d"']
PLAIN = ["100% sure", "50%ig", "20-year-old", "the 1990s", "e.g. this", "Note: the dog", "and/or"]
PLAIN += ["a-b", "km/h"]


def unknown(text: str) -> str:
    """Return the characters that are not in the vocabulary of the box, roughly."""
    return "".join(
        sign for sign in dict.fromkeys(text) if sign in "|\\^#&=~@<>" or ord(sign) > 0x2030
    )


@pytest.mark.parametrize("part", [*EMOJI, *CODES.split(), *SPACED, *QUOTED])
@pytest.mark.parametrize(
    "text", ["See {} now.", "({}) is it", "It is {}.", "{}: the dog", "Look: {}, and"]
)
def test_a_part_is_taken_out_whole_and_put_back(part: str, text: str) -> None:
    source = text.replace("{}", part)
    found = protect(source, unknown)
    assert [one.raw for one in found.parts] == [part]
    assert restore(*found, source=True) == source
    read = stand_ins(*found, 0)
    assert part not in read.text and read.marked(read.text, found.parts)[0] == found.text


@pytest.mark.parametrize("text", PLAIN)
def test_words_are_no_parts(text: str) -> None:
    assert protect(text, unknown) == (text, ())


def test_protect_and_restore_give_the_text_whatever_it_is() -> None:
    random = Random(3)
    signs = [*CODES.split(), *SPACED, *EMOJI, *" .,;:-'", "word", "Haus", "12", "$5", "2nd"]
    signs += ["\ue000", "é"]
    for lazy in (False, True):
        for number in range(1500):
            text = line(random) if number % 2 else "".join(random.choices(signs, k=9))
            found = protect(text, unknown, lazy=lazy)
            assert restore(*found, source=True) == text
            for family in range(3):
                read = stand_ins(*found, family)
                if "\ue000" not in text and not any(one in text for one in read.marks.values()):
                    assert read.marked(read.text, found.parts)[0] == found.text, text


def test_spans_of_what_the_model_reads_are_spans_of_the_text_with_marks() -> None:
    found = protect("The word%s and {x}.")
    read = stand_ins(*found, 0)
    assert read.text == "The word {1} and {2}." and len(found.text) == len("The word_ and _.")
    spans = [(0, 3), (4, 8), (9, 12), (13, 16), (17, 20), (20, 21)]
    assert shifted(spans, read.edits) == [(0, 3), (4, 8), (8, 9), (10, 13), (14, 15), (15, 16)]


@pytest.mark.parametrize(
    ("number", "languages", "expected"),
    [
        ("1,234.56", ("en", "de"), "1.234,56"),
        ("1.234,56", ("de", "en"), "1,234.56"),
        ("1,234.56", ("en", "fr"), "1\u00a0234,56"),
        ("12,345,678", ("en", "es"), "12.345.678"),
        ("8,311", ("", "de"), "8.311"),
        ("8.311", ("", "en"), "8,311"),
        ("€8,311", ("en", "de"), "8.311\u00a0€"),
        ("8.311,50 €", ("de", "en"), "€8,311.50"),
        ("3.14159", ("en", "de"), "3,14159"),
        ("86988827", ("en", "de"), "86988827"),
        ("00.500", ("de", "en"), "00.500"),
        ("1,234", ("en", "it"), "1,234"),
        ("3.2.1", ("en", "de"), "3.2.1"),
    ],
)
def test_numbers_have_the_separators_of_the_target(
    number: str, languages: tuple[str, str], expected: str
) -> None:
    assert localised(number, *languages) == expected


@pytest.mark.parametrize(
    ("source", "output", "names"),
    [
        ("It costs 1,234.56", "Es kostet 1.234,56", []),
        ("12 dogs", "21 Hunde", ["digits"]),
        ("at 7 p.m.", "um 19 Uhr", []),
        ("at 7 p.m.", "um 20 Uhr", ["digits"]),
        ("10,000 men", "10 000 hommes", []),
        ("Press %s", "Drücke", ["parts"]),
        ("<b>a</b>", "<b>b", ["tags"]),
        ("the dog", "…", ["empty"]),
        ("the dog", "a b c a b c a b c", ["repetition"]),
        ("ha ha ha ha ha ha", "ha ha ha ha ha ha", []),
        ("the dog " * 20, "der", ["length"]),
        ("the dog", "der \ufffd Hund", ["characters"]),
    ],
)
def test_a_check_names_what_is_wrong(source: str, output: str, names: list[str]) -> None:
    assert [one.name for one in check(source, output)] == names


def test_a_text_passes_the_check_of_its_own_translation_by_copying() -> None:
    random = Random(4)
    for _ in range(300):
        text = line(random)
        assert not [one for one in check_plain(text, text) if one.name != "empty"]
        assert not [one for one in check(text, text) if one.name != "empty"], text
