"""A number in words has one value in every language, and an output that lacks it is found."""

from __future__ import annotations

import pytest

from attncli.tags.checks import check_plain
from attncli.tags.number_words import amounts, large_words
from attncli.tags.protect import Languages, protect, restore
from attncli.tags.stand_ins import stand_ins
from models.text.phrases import LANGUAGES

SAME = [  # in English, German, French and Spanish
    (14, "fourteen", "vierzehn", "quatorze", "catorce"),
    (17, "seventeen", "siebzehn", "dix-sept", "diecisiete"),
    (21, "twenty-one", "einundzwanzig", "vingt et un", "veintiuno"),
    (76, "seventy-six", "sechsundsiebzig", "soixante-seize", "setenta y seis"),
    (97, "ninety-seven", "siebenundneunzig", "quatre-vingt-dix-sept", "noventa y siete"),
    (231, "two hundred and thirty-one", "zweihunderteinunddreißig", "deux cent trente et une")
    + ("doscientas treinta y una",),
    (1984, "nineteen eighty-four", "neunzehnhundertvierundachtzig")
    + ("mille neuf cent quatre-vingt-quatre", "mil novecientos ochenta y cuatro"),
    (1_001, "a thousand and one", "tausendundeins", "mille un", "mil uno"),
    (
        40_500,
        "forty thousand five hundred",
        "vierzigtausendfünfhundert",
        "quarante mille cinq cents",
    )
    + ("cuarenta mil quinientos",),
    (2_300_000, "two million three hundred thousand", "zwei Millionen dreihunderttausend")
    + ("deux millions trois cent mille", "dos millones trescientos mil"),
    (1_500_000, "1.5 million", "1,5 Mio.", "1,5 million", "1,5 millones"),
    (3e9, "3 billion", "3 Milliarden", "3 milliards", "3 mil millones"),
    (5e9, "$5bn", "5 Mrd. $", "5 Md$", "5.000 millones de $"),
    (2e12, "two trillion", "zwei Billionen", "deux billions", "dos billones"),
    (22, "twenty-second", "zweiundzwanzigsten", "vingt-deuxième", "vigésimo segundo"),
    (30, "thirtieth", "dreißigste", "trentième", "trigésima"),
]


@pytest.mark.parametrize("row", SAME)
def test_an_amount_has_its_value_in_every_language(row: tuple[float, str, str, str, str]) -> None:
    value, *texts = row
    for language, text in zip(LANGUAGES, texts, strict=True):
        assert [one.value for one in amounts(f"x {text} x", language)] == [value], text
        for other, output in zip(LANGUAGES, texts, strict=True):
            languages = Languages(language, other)
            assert not check_plain(f"x {text} x", f"x {output} x", languages), output
        if value < 10_000:
            assert not check_plain(f"x {text} x", f"x {value} x", Languages(language, "de"))


@pytest.mark.parametrize(
    ("source", "output", "target"),
    [
        ("You owe ninety-nine euros.", "Du schuldest neunzig Euro.", "de"),
        ("I bought twenty-four chairs.", "Compré veinte sillas.", "es"),
        ("on the twenty-second of June", "am zwanzigsten Juni", "de"),
        ("It costs 3 billion dollars.", "Cuesta 3 mil dólares.", "es"),
        ("It costs 3 billion dollars.", "Es kostet 3 Billionen Dollar.", "de"),
        ("It costs 3 billion dollars.", "Cuesta 3 millones de dólares.", "es"),
        ("two hundred and six boxes", "deux cents boîtes", "fr"),
    ],
)
def test_a_number_that_lost_a_part_is_found(source: str, output: str, target: str) -> None:
    assert [one.name for one in check_plain(source, output, Languages("en", target))] == ["digits"]


@pytest.mark.parametrize(
    ("source", "output", "target"),
    [
        ("I have twelve dogs.", "J'ai quelques chiens.", "fr"),
        ("one or two dogs", "ein paar Hunde", "de"),
        ("half a million people", "eine halbe Million Leute", "de"),
        ("hundreds of millions", "viele Leute", "de"),
        ("at nine-thirty", "um halb zehn", "de"),
        ("I saw the thirty-one dogs.", "Viděl jsem psy.", "cs"),
        ("the twenty-first century", "el siglo XXI", "es"),
        ("30 years", "trente ans", "fr"),
        ("three dogs", "3 Hunde", "de"),
    ],
)
def test_other_numbers_in_words_are_free(source: str, output: str, target: str) -> None:
    assert not check_plain(source, output, Languages("en", target))


@pytest.mark.parametrize(
    ("source", "read", "output", "expected"),
    [
        ("You owe ninety-nine euros.", "You owe 99 euros.", "Du schuldest 99 Euro.", "99 Euro."),
        ("the twenty-second of June", "the 22nd of June", "am 22. Juni", "am 22. Juni"),
        ("I am forty-one-years-old", "I am 41-years-old", "ich bin 41", "ich bin 41"),
        ("it has a million", "it has 27", "es hat 27", "es hat 1.000.000"),
    ],
)
def test_a_number_that_was_lost_is_read_in_digits(
    source: str, read: str, output: str, expected: str
) -> None:
    found = protect(source, languages=Languages("en", "de"), lazy=True)
    reading = stand_ins(*found, 0)
    assert reading.text == read and restore(*found, source=True) == source
    assert restore(reading.marked(output, found.parts)[0], found.parts).endswith(expected)
    assert protect(source, languages=Languages("en", "de")).parts == ()


def test_an_abbreviated_million_has_its_stop() -> None:
    [one] = large_words("1,2 Mio. Leute", ("de", "en"))
    assert (one.end, one.value) == (len("1,2 Mio."), 1_200_000)


def test_a_text_in_an_unknown_language_is_read_in_the_one_that_fits() -> None:
    for text in ("ninety-nine", "neunundneunzig", "quatre-vingt-dix-neuf", "noventa y nueve"):
        assert [one.value for one in large_words(text, ("", ""))] == [99]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("02\u00a012\u00a034 or twenty-one", [("02\u00a012\u00a034", 21_234), ("twenty-one", 21)]),
        ("İ had a hundred", [("a hundred", 100)]),
        ("à million", [("à million", 1_000_000)]),
    ],
)
def test_an_amount_has_its_place_among_unusual_signs(
    text: str, found: list[tuple[str, float]]
) -> None:
    amounts_found = amounts(text, "en")
    assert [(text[one.start : one.end], one.value) for one in amounts_found] == found
