"""Protected parts come back as they were; a quantity keeps its number and its unit."""

from __future__ import annotations

from random import Random

import pytest

from attncli.faithful.checks import check, check_plain
from attncli.faithful.numbers import STYLES, localised
from attncli.faithful.protect import Languages, protect, restore
from attncli.faithful.quantities import clock, measures, written
from attncli.faithful.stand_ins import shifted, stand_ins
from tests.attncli.faithful.small import line

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
SPACED += ["6'2\"", "5’11”", "0007"]
PLAIN = ["100% sure", "50%ig", "20-year-old", "the 1990s", "e.g. this", "Note: the dog", "and/or"]
PLAIN += ["a-b", "km/h", "seat 23A", 'he said "I am 27" now']


def unknown(text: str) -> str:
    """Return the characters that are not in the vocabulary of the box, roughly."""
    return "".join(
        sign for sign in dict.fromkeys(text) if sign in "|\\^#&=~@<>*" or ord(sign) > 0x2030
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


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("<b>Only today</b> we sell", ["<b>", "</b>"]),
        ('see <a href="x">the dog</a>', ['<a href="x">', "</a>"]),
        ("read [our terms](https://a.b/c) now", ["[", "](https://a.b/c)"]),
        ("**Only today** we sell **bread**.", ["**"] * 4),
        ("see ![a dog](dog.png)", ["![", "](dog.png)"]),
        ("1 EUR = 1.0832 USD", ["1 EUR = 1.0832 USD"]),
        ('a 27" dog', ['27"']),
        ('take "5" or a 27" dog', ['27"']),
    ],
)
def test_text_between_parts_is_translated(text: str, parts: list[str]) -> None:
    languages = Languages("en", "de", quantities=True)
    found = protect(text, unknown, languages)
    assert [one.raw for one in found.parts] == parts
    assert restore(*found, source=True) == text


def test_an_equation_of_currencies_has_numbers_of_the_target() -> None:
    found = protect("1 EUR = 1.0832 USD", unknown, Languages("en", "de", quantities=True))
    assert restore(*found) == "1 EUR = 1,0832 USD"


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
        ("Your PIN is 4711.", "Ihr PIN ist.4711.", ["digits"]),
        ("see part.5 now", "sieh Teil.5 an", []),
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


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("$1.5 million", "de", "1,5 Millionen Dollar"),
        ("$3 billion", "es", "3 mil millones de dólares"),
        ("£2.75bn", "es", "2.750 millones de libras"),
        ("€1m", "fr", "1 million d'euros"),
        ("EUR 5 million", "de", "5 Millionen Euro"),
        ("CHF 5 million", "fr", "5 millions CHF"),
        ("$10k", "de", "10.000\u00a0$"),
        ("$2.3 trillion", "fr", "2,3 billions de dollars"),
    ],
)
def test_a_price_keeps_its_magnitude(text: str, target: str, expected: str) -> None:
    text, parts = protect(f"so {text} it", languages=Languages("en", target, quantities=True))
    assert restore(text, parts) == f"so {expected} it"
    assert stand_ins(text, parts, 0).text == "so 27 it"


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("de", "1,5 Mrd. €", "€1.5 billion"),
        ("", "1,5 Mrd. €", "€1.5 billion"),
        ("fr", "5 M€", "€5 million"),
        ("cs", "$5 million", "$5 million"),
        ("de", "3 Mio. CHF", "CHF 3 million"),
    ],
)
def test_a_price_in_english_has_the_short_scale(source: str, text: str, expected: str) -> None:
    assert written(text, source, "en") == expected


@pytest.mark.parametrize(
    ("target", "expected"), [("de", "1990s"), ("fr", "années 1990"), ("es", "años 1990")]
)
def test_a_decade_is_no_time_in_seconds(target: str, expected: str) -> None:
    text, parts = protect("the 1990s", languages=Languages("en", target, quantities=True))
    assert restore(text, parts) == f"the {expected}"
    assert stand_ins(text, parts, 0).text == "the 1990s"


@pytest.mark.parametrize(
    ("source", "output", "passes"),
    [
        ("take LH 400 now", "tome el vuelo 400", False),
        ("take LH 400 now", "nimm LLH 400", False),
        ("take LH 400 now", "nimm LH 400 jetzt", True),
        ("IN 2020 WE CAME", "2020 KAMEN WIR", True),
        ("the UN 2030 goals", "les objectifs 2030 de l'ONU", True),
    ],
)
def test_a_lost_letter_of_a_code_is_found(source: str, output: str, passes: bool) -> None:
    assert bool(check_plain(source, output)) != passes


@pytest.mark.parametrize(
    ("source", "output", "languages", "passes"),
    [
        ("You must not exceed it.", "Sie dürfen.", ("en", "de"), False),
        ("You must not exceed it.", "Sie dürfen.", ("", "de"), False),
        ("You must not exceed it.", "Sie dürfen.", ("", ""), True),
        ("You must not exceed it.", "Das Überschreiten ist verboten.", ("en", "de"), True),
        ("It doesn't matter.", "Das ist unwichtig.", ("en", "de"), True),
        ("It doesn't matter.", "Das ist uns wichtig.", ("en", "de"), False),
        ("You're new, aren't you?", "Du bist neu, oder?", ("en", "de"), True),
        ("Er kommt nicht.", "He comes.", ("", "en"), False),
        ("Er hat keine Zeit.", "He has no time.", ("de", "en"), True),
        ("Il n'est jamais là.", "He is there.", ("", "en"), False),
        ("C'est beau, n'est-ce pas ?", "It's nice, right?", ("fr", "en"), True),
        ("No me gusta nada.", "I like it.", ("", "en"), False),
        ("Es sano como nunca.", "He is as healthy as ever.", ("es", "en"), True),
    ],
)
def test_a_lost_negation_is_found(
    source: str, output: str, languages: tuple[str, str], passes: bool
) -> None:
    found = check_plain(source, output, Languages(*languages))
    assert [one.name for one in found] == ([] if passes else ["negation"])


@pytest.mark.parametrize(
    ("text", "read", "german"),
    [
        ("at half past two.", "at 2:30.", "at 2:30 Uhr."),
        ("at a quarter to one", "at 12:45", "at 12:45 Uhr"),
        ("at a quarter past 6, so", "at 6:15, so", "at 6:15 Uhr, so"),
        ("it is ten past four", "it is 4:10", "it is 4:10 Uhr"),
        ("it is twenty-five to nine", "it is 8:35", "it is 8:35 Uhr"),
        ("at five minutes to twelve pm", "at 23:55", "at 23:55 Uhr"),
        ("at half past seven p.m.", "at 19:30.", "at 19:30 Uhr."),
        ("at six-thirty now", "at 6:30 now", "at 6:30 Uhr now"),
        ("at twelve-thirty", "at 12:30", "at 12:30 Uhr"),
        ("at eleven-forty-five pm", "at 23:45", "at 23:45 Uhr"),
    ],
)
def test_a_time_in_words_is_read_in_digits(text: str, read: str, german: str) -> None:
    found = protect(text, languages=GERMAN)
    assert stand_ins(*found, 0).text == read
    assert restore(*found) == german


@pytest.mark.parametrize(
    "text",
    ["we go past one house", "at ten to twelve dogs", "half of two", "ten to four", "a thirty-one"],
)
def test_words_are_no_times(text: str) -> None:
    assert protect(text, languages=GERMAN) == (text, ())


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("de", "um halb drei.", "um 2:30."),
        ("de", "um Viertel vor eins", "um 12:45"),
        ("de", "um dreiviertel zehn", "um 9:45"),
        ("de", "zehn nach vier Uhr", "4:10"),
        ("fr", "à deux heures et demie", "à 2:30"),
        ("fr", "il est neuf heures moins le quart", "il est 8:45"),
        ("fr", "vers quatre heures dix", "vers 4:10"),
        ("es", "a las dos y media", "a las 2:30"),
        ("es", "a la una menos veinte", "a la 12:40"),
        ("es", "a las diez y cinco", "a las 10:05"),
        ("", "um halb drei.", "um 2:30."),
        ("", "il est deux heures et demie", "il est 2:30"),
        ("", "a la una menos veinte", "a la 12:40"),
        ("", "pendant deux heures et demie", "pendant deux heures et demie"),
        ("fr", "pendant deux heures et demie", "pendant deux heures et demie"),
        ("es", "dos y media", "dos y media"),
        ("de", "nach drei Tagen", "nach drei Tagen"),
    ],
)
def test_a_time_in_words_of_other_languages(source: str, text: str, expected: str) -> None:
    found = protect(text, languages=Languages(source, "en", quantities=True))
    assert restore(*found) == stand_ins(*found, 0).text == expected
