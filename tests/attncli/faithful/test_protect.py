"""Protected parts come back as they were; what a check names is wrong."""

from __future__ import annotations

from random import Random

import pytest

from attncli.faithful._kinds import KINDS, PartKind
from attncli.faithful._number_words import numbers_in_words
from attncli.faithful._stand_ins import marked, readable
from attncli.faithful.checks import (
    NAMES,
    are_faithful,
    changed_digits,
    check,
    check_marked,
    check_plain,
)
from attncli.faithful.numbers import localised
from attncli.faithful.protect import Part, finder, is_sign, protect, restore, with_amounts
from attncli.faithful.spans import shifted
from tests.attncli.faithful.small import line
from tests.upper_model import Upper

HALVES = {"Markdown link", "Markdown bold"}  # one of a pair, see BETWEEN
EXAMPLES = [kind.example for kind in KINDS[1:] if kind.name not in HALVES]
EMOJI = ["\uf8ff", "❤️", "☀️", "⚠️", "1️⃣", "🐈\u200d⬛", "👍🏽", "🇩🇪", "→", "#️⃣", "H₂O", "x^2", "a=b"]
CODES = r"""
%'d %1$s %-5.2f %(x)s %@ {x} {{x}} {{{x}}} ${x} %{x} {0:.2f} %name% $1 [x] %d%% %<PRIu64> %Y-%m-%d
a.b+c@d-e.org /usr/lib/x.so C:\tmp\a.txt ~/x src/main.py 8f3K-22Lq-PPa9 192.168.0.1 1.10.0-rc.1
550e8400-e29b-41d4-a716-446655440000 2024-05-01 86988827 26,888 €8,311 030/1234567 max_value
MM/DD/YYYY h:mm <color=#ff0000> %.3fs %dx 2-3 H2SO4 https://a.b/c%20d?x=y
"""
OTHERS = ["(555) 123-4567", "B-MW 1234", "AB12 CDE", "5’11”", "{{ a | b('c') }}", "'{x}'", '"%d"']


OTHERS += ['\\"%s\\"', "{ $userName }", "h:mm a", "{#if user}", "-----"]


PARTS = [*EXAMPLES, *EMOJI, *CODES.split(), *OTHERS]
SENTENCES = ["See {} now.", "({}) is it", "It is {}.", "{}: the dog", "Look: {}, and", "{}"]


def unknown(text: str) -> str:
    """Return the characters that are not in a vocabulary such as that of the box."""
    signs = (sign for sign in dict.fromkeys(text) if sign in "|\\^#&=~@<>*" or ord(sign) > 0x2030)
    return "".join(sign for sign in signs if not "\ue000" <= sign <= "\uf8ff")


def model(reserved: int) -> Upper:
    """Return a model without some signs."""
    found = Upper(reserved)
    found.unknown_characters = unknown  # type: ignore[method-assign]
    return found


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_taken_out_whole_and_put_back(part: str) -> None:
    for sentence in SENTENCES if part[-1] != "." else SENTENCES[:2]:
        text = sentence.replace("{}", part)
        marks, parts = protect(text, unknown)
        assert [one.raw for one in parts] == [part], text
        assert len(marks) == len(sentence) - 1 and restore(marks, parts, source=True) == text
        for reserved in (0, 8):
            read, found, _ = readable(marks, parts, model(reserved))
            assert not unknown(read) and (part in read) == (not reserved and not unknown(part))
            assert marked(read, parts, found)[0] == marks


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.name))
def test_an_example_is_of_its_own_kind(kind: PartKind) -> None:
    context = {"Markdown link": "a{}", "Markdown bold": "{}a", "bank code": "BIC {}"}
    found = finder().search(context.get(kind.name, "{}").replace("{}", kind.example))
    assert found and found[0] == kind.example
    assert KINDS[int(str(found.lastgroup)[1:])] is kind


@pytest.mark.parametrize(
    "text",
    ["100% sure", "50%ig", "20-year-old", "the 1990s", "e.g. this", "Note: the dog", "and/or"]
    + ["a-b", "km/h", 'he said "I am 27" now', "at 7:30", "the 20th", "a. b"]
    + [
        "AT&T",
        "No.5 is it",
        "it costs $5",
        "see: so",
        "Dr. No",
        "wait ...",
        "is ::",
    ],
)
def test_words_are_no_parts(text: str) -> None:
    assert protect(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("<b>Only today</b> we sell", ["<b>", "</b>"]),
        ('see <a href="x">the dog</a>', ['<a href="x">', "</a>"]),
        ("read [our terms](https://a.b/c) now", ["[", "](https://a.b/c)"]),
        ("**Only today** we sell **bread**.", ["**"] * 4),
        ("see ![a dog](dog.png)", ["![", "](dog.png)"]),
        ("[[The big house|see it]] now", ["[[The big house|", "]]"]),
        ("§cWarning: §rthe water", ["§c", "§r"]),
        ("Good morning\\nmy friend", ["\\n"]),
        ("Hello $1 and $2, it is $5", []),
        ("'''Look.''' See the ''log'' of 5'' or dogs' 'a' so", ["'''"] * 2 + ["''"] * 2),
        ("in [{{x:{{#y}}/d|e={{z}}}} the log]", ["{{x:{{#y}}/d|e={{z}}}}"]),
        ("Use -d or --all (a) - so, f() or %s() x, -a", ["-d", "--all", "f()", "%s()", "-a"]),
        ("some 40 000 men, 2 000.5 kg, May 5 2000 or 5 20", ["40 000", "2 000.5"]),
        ("Hello $1 and $2, it is so", ["$1", "$2"]),
        ("from {a}, {b} to {c}", ["{a}", "{b}", "{c}"]),
        ("{a}/{b}: %s-%d", ["{a}/{b}", "%s-%d"]),
        ("It is DD.MM. so", ["DD.MM."]),
        ("See https://a.b/Java_(x) now (https://a.b/c)", ["https://a.b/Java_(x)", "https://a.b/c"]),
        ("see [it](https://a.b/c_(d)).", ["[", "](https://a.b/c_(d))"]),
        ("My iPhone, PayPal and pH on example.com", ["iPhone", "PayPal", "pH", "example.com"]),
        ("localhost:8080 or the end.It is", ["localhost:8080"]),
        ("$10 = 9 euros; $20 = 18 euros", ["=", "="]),
        ("The $x = 1$ and $\\frac{a}{b}$ so", ["$x = 1$", "$\\frac{a}{b}$"]),
        ("You pay $5 {tax} or $6", ["{tax}"]),
        ("Use B<--big> and I<the file> now", ["B<--big>", "I<", ">"]),
        ("read \\fI/etc/dog\\fR and \\fBstart\\fR", ["\\fI/etc/dog\\fR", "\\fBstart\\fR"]),
        ("See <<dog,the image>> so", ["<<dog,", ">>"]),
        ("at 14:00 UTC, 9 PM EST or 8 a.m.", ["UTC", "EST"]),
        ("a -> b, File > Open, Prices* may", ["->", ">", "*"]),
    ],
)
def test_text_between_parts_is_translated(text: str, parts: list[str]) -> None:
    marked, found = protect(text)
    assert [one.raw for one in found] == parts
    assert restore(marked, found, source=True) == text


def test_protect_and_restore_give_the_text_whatever_it_is() -> None:
    random = Random(3)
    signs = [*PARTS, *EMOJI, *" .,;:-'\"()[]<&", "word", "Haus", "12", "$5", "2nd", "\ue000", "é"]
    for number in range(2000):
        text = line(random) if number % 2 else "".join(random.choices(signs, k=9))
        marks, parts = protect(text, unknown)
        assert restore(marks, parts, source=True) == text
        for reserved in (0, 64):
            read, found, edits = readable(marks, parts, model(reserved))
            assert marked(read, parts, found)[0] == marks or not reserved, text
            assert [read[one.start : one.end].strip() for one in edits] == [
                found[one.mark] for one in edits
            ]


def test_a_model_with_too_few_reserved_tokens_reads_the_parts_themselves() -> None:
    marks, parts = protect("{a} or {b} or {c}")
    assert readable(marks, parts, model(2))[0] == "{a} or {b} or {c}"
    assert readable(marks, parts, model(3))[0] == "\ue000 or \ue001 or \ue002"


def test_spans_of_what_the_model_reads_are_spans_of_the_text_with_marks() -> None:
    marks, parts = protect("The word%s and {x}.")
    read, _, edits = readable(marks, parts, model(0))
    assert read == "The word %s and {x}." and len(marks) == len("The word_ and _.")
    spans = [(0, 3), (4, 8), (9, 11), (12, 15), (16, 19), (19, 20)]
    assert shifted(spans, edits) == [(0, 3), (4, 8), (8, 9), (10, 13), (14, 15), (15, 16)]


@pytest.mark.parametrize(
    ("raw", "in_order"),
    [("%s", True), ("<b>", True), ("**", True), ('"%d"', True), ("[b]", True)]
    + [("%1$s", False), ("{0}", False), ("%(a)s", False), ("%%", True), ("C:\\a", False)],
)
def test_parts_without_number_or_name_keep_their_order(raw: str, in_order: bool) -> None:
    assert Part(raw, raw).in_order == in_order


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
    ],
)
def test_numbers_have_the_separators_of_the_target(
    number: str, languages: tuple[str, str], expected: str
) -> None:
    assert localised(number, *languages) == expected
    if number in ("1,234.56", "8,311", "€8,311"):
        text, parts = protect(f"so {number} it", languages=languages)
        assert restore(text, parts) == f"so {expected} it"


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
    ("Write x = 5", "Schreibe x 5", "parts"),
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
    names = {name for *_, names in TABLE for name in names.split()}
    assert names | {"signs", "quotes"} == {*NAMES}  # of a plan


@pytest.mark.parametrize(
    ("source", "output", "languages", "found"),
    [
        ("Take 2 tablets", "Nimm eine Tablette", "en de", "2 is missing"),
        ("Take 2 tablets", "Nimm zwei Tabletten", "en de", ""),
        ("in 5 days", "en cinquante jours", "en fr", "5 is missing"),
        ("in 25 days", "dans vingt-cinq jours", "en fr", ""),
        ("Rain 4d", "Viertel", "en de", "4 is missing"),
        ("the 2nd of 3", "der zweite von drei", "en de", ""),
        ("1 house, 100 trees", "eine Haus, hundert Bäume", "en de", ""),
        ("for 1,000 men", "para mil hombres", "en es", ""),
        ("two dogs", "3 Hunde", "en de", "3 is new"),
        ("forty-two dogs", "42 Hunde", "en de", ""),
        ("two dogs", "3 Hunde", "xx de", ""),  # nobody knows what it means
        ("at 3:30", "um halb vier", "en de", ""),
        ("at half past three", "a las 3:30", "en es", ""),
        ("at 3:30", "um halb zwei", "en de", "3, 30 is missing"),
        ("at 14:00", "à 14 h", "en fr", ""),
        ("at 2:30 a.m.", "à 14 h 30", "en fr", "2 is missing, 14 is new"),
        ("at 2:30 p.m.", "à 14 h 30", "en fr", ""),
        ("at 2:30", "à 14 h 30", "en fr", "2 is missing, 14 is new"),
        ("from 8 to 10 p.m.", "von 20 bis 22 Uhr", "en de", ""),
    ],
)
def test_a_number_is_kept_in_digits_or_in_its_own_words(
    source: str, output: str, languages: str, found: str
) -> None:
    own, to = languages.split()
    assert changed_digits(source, output, (own, to)) == found


def test_the_words_of_every_number_up_to_a_hundred_mean_that_number_alone() -> None:
    from num2words import num2words

    for language in ("en", "de", "fr", "es"):
        for number in range(101):
            text = f"so {num2words(number, lang=language)} xyz"
            assert numbers_in_words(text, language, ()) == {number}, text


def test_signs_and_halves_of_the_day_of_a_piece_are_compared() -> None:
    for source, output, found in (
        ("It is 5%", "Es ist 5", "% is missing"),
        ("It is 5%", "Es ist 5 %", ""),
        ("It is 5", "Es ~ist 5", "~ is new"),
        ("20 euros", "20 €", ""),
        ("a dog & a cat", "ein Hund und eine Katze", ""),
        ("a dog & a cat", "ein Hund & eine Katze", ""),
        ("AT&T", "AT und T", "& is missing"),
        ("the dog (red)", "der (rote Hund", ") is missing"),
        ("the dog (red)", "der rote Hund", ""),
        ("a) dog", "(a) Hund", ""),
        ("John XXIII is here", "Johannes ist hier", "XXIII is missing"),
        ("John XXIII is here", "Johannes der Dreiundzwanzigste", ""),
        ("World War II", "der Zweite Weltkrieg", ""),
        ("World War II", "der 2. Weltkrieg", ""),
        ("Rocky III", "Rocky Arch", "III is missing"),
        ("two-thirds of them", "zweiunddreißig von ihnen", "32 is new"),
        ("on the seventeenth of May", "am Mai", "17 is missing"),
        ("on the seventeenth of May", "am siebzehnten Mai", ""),
        ("twenty of them are in the tent", "20 sind im Zelt", ""),
        ("at 7:15 p.m.", "um 7:15 Uhr", "7:15 p.m is missing"),
        ("at 7:15 p.m.", "um 19:15 Uhr", ""),
        ("at 12:10 a.m.", "um 0:10 Uhr", ""),
        ("at 12:10 a.m.", "um 12:10 Uhr", "12:10 a.m is missing"),
    ):
        checks = check_marked(source, output, (), ("en", "de"))
        assert ", ".join(one.found for one in checks) == found, source


@pytest.mark.parametrize("sign", [c for c in map(chr, range(33, 0x2300)) if is_sign(c)])
def test_a_sign_is_taken_out_whatever_the_vocabulary_has(sign: str) -> None:
    for text in (f"It is {sign} here.", f"The house{sign} is old.", f"He has {sign}5 dogs."):
        marks, parts = protect(text)
        assert sign not in marks and restore(marks, parts, source=True) == text


def test_amounts_become_parts_in_the_style_of_the_target() -> None:
    text, parts = with_amounts("7:15 PM, $5.50, -2.5%, 3 kg & [x]", (), ("en", "de"))
    shown = "19:15, 5,50\u00a0$, -2.5%, 3 kg & [x]"
    assert not any(map(str.isdigit, text)) and restore(text, parts) == shown


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


def test_a_link_without_text_fails_the_check() -> None:
    text, parts = protect("see [it](a.html) and [[b|so]].")
    for output, names in (
        ("sieh \ue000es\ue001 und \ue002so\ue003.", []),
        ("sieh es \ue000 \ue001 und \ue002so\ue003.", ["](a.html) has no text"]),
        ("sieh \ue000es\ue001 und so \ue002\ue003.", ["]] has no text"]),
    ):
        assert [one.found for one in check_marked(text, output, parts)] == names
    text, parts = protect("a <color=red>red</color> door")
    [found] = check_marked(text, "eine \ue000\ue001 rote Tür", parts)
    assert found.found == "</color> has no text"
    text, parts = protect("**a** b **c** d")
    for output, names in (
        ("\ue000x\ue001 \ue002y\ue003 z", []),
        ("x \ue000\ue001 \ue002y\ue003 z", ["** has no text"]),
        ("\ue000x\ue001 y \ue003 \ue002 z", ["** has no text"]),
    ):
        assert [one.found for one in check_marked(text, output, parts)] == names
    [found] = check_marked(text, text + "\ue00d", parts)
    assert found.found == "a part is repeated"


@pytest.mark.parametrize(
    ("source", "output", "names"),
    [
        ('"No!" he said.', "„Nein“, sagte er.", []),
        ('"Why?" she asked.', '"¿Por qué? preguntó ella.', ["quotes"]),
        ('"I went home.', "« Je suis rentré.", []),  # a piece of a longer quotation
        ("It is here.", "Es ist “hier.", ["quotes"]),
        ('6" and "a"', '6" und „a“', []),
    ],
)
def test_a_quotation_mark_has_its_pair(source: str, output: str, names: list[str]) -> None:
    assert [one.name for one in check_marked(source, output, ())] == names


def test_a_damaged_character_is_named_once() -> None:
    assert [one.name for one in check_marked("the dog", "der \ufffd Hund", ())] == ["characters"]


def test_a_text_passes_the_check_of_its_own_translation_by_copying() -> None:
    random = Random(4)
    for _ in range(300):
        text = line(random)
        assert not [one for one in check_plain(text, text) if one.name != "empty"]
        assert not [one for one in check(text, text) if one.name != "empty"], text


def test_pairs_are_faithful_if_nine_of_ten_are() -> None:
    right, wrong = ("12 dogs", "12 Hunde"), ("12 dogs", "13 Hunde")
    for wrongs, faithful in ((0, True), (1, True), (2, False)):
        pairs = [right] * (10 - wrongs) + [wrong] * wrongs
        assert are_faithful(*zip(*pairs, strict=True)) == faithful


def test_numbers_of_any_length_are_compared() -> None:
    long = "1" * 5000  # Python refuses to convert more than 4,300 digits
    assert check(f"a {long}", f"b {long}") == ()
    [found] = check_plain(f"a {long}", f"b {long}2")
    assert found.name == "digits"


@pytest.mark.parametrize(
    ("text", "raws"),
    [
        ('A 10" screen', ['10"']),
        ('15.6" wide', ['15.6"']),
        ('He said "I have 3" and left.', []),
        ('The 10" and the 12" model', ['10"', '12"']),
        ('10"', ['10"']),
        ('a 3/4" and a 1 1/2" screw', ['3/4"', '1 1/2"']),
        ('10"a', []),
    ],
)
def test_a_number_of_inches_is_no_end_of_a_quotation(text: str, raws: list[str]) -> None:
    assert [part.raw for part in protect(text)[1]] == raws


def test_inches_have_the_decimals_of_the_language() -> None:
    [part] = protect('a 15.6" screen', languages=("en", "de"))[1]
    assert part.shown == '15,6"'
