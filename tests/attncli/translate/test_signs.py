"""Signs and small numbers of a text stand in its translation, by the model in the box."""

from __future__ import annotations

import re
from random import Random

import pytest

from attncli.faithful._kinds import CURRENCIES
from attncli.faithful._prepare import inner_of_tags
from attncli.faithful.numbers import in_style, with_hours
from attncli.faithful.protect import SOFT, is_sign
from attncli.faithful.result import TranslatedLine
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from models.storage.installed import BOX, is_bundle
from tests.attncli.translate.calendar_names import MONTHS, SHORT_MONTHS

if not is_bundle(BOX / "everyday"):
    pytest.skip("the models are not in the box", allow_module_level=True)

PLACES = {
    "en": ("It is {} here.", "The house{} is old.", "He has {}5 dogs."),
    "de": ("Es ist {} hier.", "Das Haus{} ist alt.", "Er hat {}5 Hunde."),
    "fr": ("Il est {} ici.", "La maison{} est vieille.", "Il a {}5 chiens."),
    "es": ("Está {} aquí.", "La casa{} es vieja.", "Tiene {}5 perros."),
}
DIRECTIONS = [("en", "de"), ("en", "fr"), ("en", "es"), ("de", "en"), ("fr", "en"), ("es", "en")]
SIGNS = [
    c
    for c in map(chr, [*range(33, 0x100), 0x2122, 0x2192, 0x2212, 0x2264])
    if c in SOFT or is_sign(c)
]
SIGNS = [sign for sign in SIGNS if sign not in "[]{}"]  # come in pairs

UNITS = (
    "nm µm μm mm cm dm m km m² km² cm³ m³ µg mg g kg t ml cl dl l L hl ha min h s ms µs W kW MW "
    "Wh kWh V kV VA A mA mAh Ah Hz kHz MHz GHz N kN Nm J kJ Pa hPa kPa bar psi eV Ω kΩ cal kcal "
    "dB dBA mol lm lx cd K kWp ppm ppb rpm dpi px pt B kB KB MB GB TB MiB MB/s bit/s Mbit/s Mbps "
    "km/h m/s mph g/km kg/m³ m³/h l/h mg/l mg/kg "
)
MEASURED = {
    "en": "It needs {} a day.",
    "de": "Es braucht {} am Tag.",
    "fr": "Il faut {} par jour.",
    "es": "Necesita {} al día.",
}


@pytest.mark.parametrize(("own", "to"), DIRECTIONS)
def test_every_unit_and_currency_stands_at_its_number(own: str, to: str) -> None:
    given, number = ("12.5" if one == "en" else "12,5" for one in (own, to))
    codes = CURRENCIES.split("|")
    amounts = [f"{{}} {unit}" for unit in [*UNITS.split(), *codes]] + [
        f"{one} {{}}" for one in codes
    ]
    lines = [MEASURED[own].replace("{}", one.replace("{}", given)) for one in amounts]
    for amount, one in zip(amounts, translated(lines, own, to), strict=True):
        assert amount.replace("{}", number) in one.text, (amount, one.text)


def translated(lines: list[str], own: str, to: str) -> list[TranslatedLine]:
    return TranslateRunner.open(None, TranslateOptions(source=own, to=to)).results(lines)


@pytest.mark.parametrize(("own", "to"), DIRECTIONS)
def test_every_sign_is_in_the_translation_as_often_as_in_the_text(own: str, to: str) -> None:
    given = [(place.replace("{}", sign), sign) for sign in SIGNS for place in PLACES[own]]
    found = translated([text for text, _ in given], own, to)
    for (text, sign), one in zip(given, found, strict=True):
        assert one.text.count(sign) == text.count(sign) or one.checks, (text, one.text)


@pytest.mark.parametrize("to", ["de", "fr", "es"])
def test_a_small_number_is_in_the_translation_or_a_message_names_it(to: str) -> None:
    random = Random(5)
    frames = ["Take {} tablets.", "Buy 3, get {} free!", "Room {} is closed.", "Within {} days"]
    lines = [frame.replace("{}", str(random.randrange(2, 13))) for frame in frames * 6]
    for line, one in zip(lines, translated(lines, "en", to), strict=True):
        lost = {*re.findall(r"\d+", line)} - {*re.findall(r"\d+", one.text)}
        assert not lost or one.checks, (line, one.text)


HALF_DAY_FORMS = (
    *("{}{}m", "{} {}m", "{}{}M", "{} {}M", "{}:15{}m", "{}:15 {}M", "{}:00{}m", "{}:00 {}M"),
    *("{} {}.m.", "{}{}.m.", "{} {}.M.", "{}:30 {}m", "{}:30 {}.m."),
)
HOUR_FRAMES = ("{}", "Closed at {}", "Tomorrow at {}, we will talk.", "The shop opens at {} today.")


@pytest.mark.parametrize("to", ["de", "fr", "es"])
@pytest.mark.parametrize("frame", HOUR_FRAMES)
def test_every_hour_of_half_a_day_is_one_of_24(to: str, frame: str) -> None:
    rows = [(hour, half, form) for hour in range(1, 13) for half in "ap" for form in HALF_DAY_FORMS]
    times = [form.format(hour, half.upper() if "M" in form else half) for hour, half, form in rows]
    lines = [frame.replace("{}", time) for time in times]
    for (hour, half, form), line, one in zip(rows, lines, translated(lines, "en", to), strict=True):
        minute = int((re.findall(r":(\d\d)", form) or ["0"])[0])
        [found, *minutes] = map(int, re.findall(r"\d+", one.text))
        is_told = found == hour % 12 + 12 * (half == "p") and (minutes or [0]) == [minute]
        assert is_told != bool(one.checks), (line, one.text)
        if frame == "{}" or not line.endswith("."):
            assert not one.text.endswith("."), (line, one.text)


@pytest.mark.parametrize(
    ("own", "form"), [("de", "von {} bis {} Uhr"), ("fr", "de {} à {} heures"), ("de", "{}-{} Uhr")]
)
def test_no_hours_from_and_to_are_counted_in_two_ways(own: str, form: str) -> None:
    lines = [form.format(first, last) for last in range(14, 24) for first in range(13, last)]
    for line, one in zip(lines, translated(lines, own, "en"), strict=True):
        mixed = re.search(r"(1[3-9]|2\d)\D.*[ap]\.m", one.text)
        assert not mixed or one.checks, (line, one.text)


@pytest.mark.parametrize("own", ["de", "fr", "es"])
def test_twelve_in_half_days_stays_twelve_in_english(own: str) -> None:
    for form in (*HALF_DAY_FORMS, "{} {}. m."):
        lines = [form.format(12, half.upper() if "M" in form else half) for half in "ap"]
        for half, one in zip("ap", translated(lines, own, "en"), strict=True):
            assert re.fullmatch(rf"12(:\d\d)? {half}\.m\.", one.text) or one.checks, one.text


SPELLINGS = {
    "de": (
        *("{h} Uhr", "Um {h} Uhr.", "ab {h} Uhr", "gegen {h} Uhr", "{h} Uhr 30", "{h}.30 Uhr"),
        *("Der Laden öffnet um {h} Uhr.", "Wir treffen uns um {h}:00 Uhr.", "Beginn: {h}:30 Uhr"),
        *("Der Laden öffnet um {h} Uhr 30.", "Wir treffen uns um {h}.30 Uhr."),
    ),
    "fr": (
        *("{h} h", "{h}h30", "{h} h 30", "{h} heures", "À {h} h.", "vers {h} h", "{h}h00"),
        *("Le magasin ouvre à {h} h.", "Nous nous voyons à {h}h30.", "Début : {h} heures"),
    ),
    "es": (
        *("{h}:00", "las {h}", "A las {h}.", "a las {h}:30", "a las {h} h", "{h}.30 h"),
        *("La tienda abre a las {h}:00.", "Nos vemos a las {h}:30.", "Inicio: {h} h"),
    ),
}
NUMBERS = [
    "midnight",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]


def hours_told(text: str) -> set[tuple[int, int]]:
    """Return the times of day that an English text may mean, as hours from 0 to 23 and minutes."""
    text = re.sub("noon|midday", "12:00", text.casefold()).replace("half past", "30 past")
    for hour, name in enumerate(NUMBERS):
        text = re.sub(rf"\b{name}\b", f"{hour}:00", text)
    text = re.sub(r"30 past (\d+)(:00)?", r"\1:30", text)
    found = set()
    for one in re.finditer(r"(?<!\d)(\d\d?)(?:[:.h]\s?(\d\d))?(?:\s?([ap])\.m)?", text):
        hour, minute = int(one[1]), int(one[2] or 0)
        assert not one[3] or 0 < hour <= 12, text
        found.add((hour % 12 + 12 * (one[3] == "p") if one[3] else hour % 24, minute))
    return found


@pytest.mark.parametrize(
    ("own", "form"), [(own, form) for own in SPELLINGS for form in SPELLINGS[own]]
)
def test_every_hour_of_24_is_told_in_english_or_a_message_names_it(own: str, form: str) -> None:
    lines = [form.replace("{h}", str(hour)) for hour in range(25)]
    for hour, one in enumerate(translated(lines, own, "en")):
        minute, told = 30 * ("30" in form), hours_told(one.text)
        # an hour before noon may be meant as one after it
        expected = {(hour % 24, minute), (hour + 12 * (0 < hour < 12), minute)}
        assert told & expected or one.checks, (lines[hour], one.text)


@pytest.mark.parametrize("to", ["de", "fr", "es"])
@pytest.mark.parametrize("text", ["5pm GMT", "5 PM EST.", "The call is at 5 p.m. GMT."])
def test_no_stop_of_a_half_day_stands_before_a_time_zone(text: str, to: str) -> None:
    [one] = translated([text], "en", to)
    assert not re.search(r"\. (GMT|EST)", one.text), one.text


def test_a_half_day_at_the_end_has_its_stop() -> None:
    assert [one.text for one in translated(["3 Uhr", "ab 9 Uhr"], "de", "en")] == [
        "3 a.m.",
        "from 9 a.m.",
    ]


def test_a_name_that_only_the_lexicon_knows_is_translated() -> None:
    texts = [one.text for one in translated(["zzgl. MwSt", "Mein iPhone"], "de", "en")]
    assert "VAT" in texts[0] and "iPhone" in texts[1]


@pytest.mark.parametrize("to", ["de", "fr", "es"])
@pytest.mark.parametrize("text", ["3 in.", "The screw is 3 in. long."])
def test_inches_stand_at_their_number(text: str, to: str) -> None:
    assert "3 in." in translated([text], "en", to)[0].text


def test_hours_from_and_to_are_those_of_24() -> None:
    for start in range(1, 13):
        for end in range(1, 13):
            for half in "ap":
                last = end % 12 + 12 * (half == "p")
                for first in {half, "a"}:
                    raw = f"{start}{first}m-{end}{half}m"
                    expected = f"{start % 12 + 12 * (first == 'p')}:00–{last}:00"
                    assert in_style(raw, "en", "de") == expected
                    assert in_style(raw, "de", "en") == raw
                begins, _, ends = in_style(f"{start}-{end}{half}m", "en", "fr").partition("–")
                length = (int(ends[:-3]) - int(begins[:-3])) % 24
                assert ends == f"{last}:00" and length < 12  # the nearest hour before it
    for raw, shown in (
        ("9am-5:30pm", "9:00–17:30"),
        ("9-5pm", "9:00–17:00"),
        ("2-5pm", "14:00–17:00"),
        ("10-12pm", "10:00–12:00"),
        ("11:30-1pm", "11:30–13:00"),
        ("9 AM – 5.45 PM", "9:00–17:45"),
        ("9 a.m. - 5 p.m", "9:00–17:00"),
    ):
        assert in_style(raw, "en", "es") == shown
    german = "Wir treffen uns von 3-5 am Montag."
    assert "3-5" in translated([german], "de", "en")[0].text
    [hours] = translated(["The shop is open 10am-4pm on Sundays."], "en", "de")
    assert "10:00–16:00" in hours.text


@pytest.mark.parametrize("to", ["de", "fr", "es"])
@pytest.mark.parametrize(
    "form", ["on {wide} {day}.", "by {short} {day}, 2024.", "on {short}. {day}."]
)
def test_every_month_with_a_day_is_that_month(to: str, form: str) -> None:
    rows = [(month, day) for month in range(12) for day in (2, 11, 23)]
    lines = [
        form.format(wide=MONTHS["en"][month], short=SHORT_MONTHS[month], day=day)
        for month, day in rows
    ]
    lines = [f"We leave {line}" for line in lines]
    for (month, day), one in zip(rows, translated(lines, "en", to), strict=True):
        assert MONTHS[to][month].lower() in one.text.lower(), one.text
        assert re.search(rf"(?<!\d){day}(?!\d)", one.text), one.text


@pytest.mark.parametrize("to", ["en", "fr"])
def test_a_german_number_before_a_month_is_a_day_and_before_a_small_word_an_item(to: str) -> None:
    items = ["Nur heute", "Unser Team", "Klicken Sie hier", "Was ist das?", "Die Software starten"]
    texts = [*MONTHS["de"], *items]
    alone = [one.text for one in translated(texts, "de", to)]
    numbered = [one.text for one in translated([f"3. {text}" for text in texts], "de", to)]
    for text, one, other in zip(texts, alone, numbered, strict=True):
        assert (other == f"3. {one}") == (text in items), (text, other)


@pytest.mark.parametrize("mark", ["- [ ] ", "* [x] ", "- [X] 2. "])
@pytest.mark.parametrize(("own", "to"), DIRECTIONS)
def test_a_check_box_is_a_mark_around_the_text(mark: str, own: str, to: str) -> None:
    text = {"en": "Save your work", "de": "Die Arbeit speichern"}.get(own, "No")
    [alone, marked] = translated([text, mark + text], own, to)
    assert marked.text == mark + alone.text


@pytest.mark.parametrize("to", ["de", "fr", "es"])
@pytest.mark.parametrize(
    "form", ["<td>{}</td>", '<p><b class="a">{}</b></p>', " <h2>## {}</h2>", "<li> {} 😀 </li>"]
)
def test_tags_around_a_whole_plain_line_are_around_its_translation(form: str, to: str) -> None:
    texts = ["Delete account", "Opening Hours", "The shop is closed."]
    alone = [one.text for one in translated(texts, "en", to)]
    tagged = translated([form.replace("{}", text) for text in texts], "en", to)
    assert [one.text for one in tagged] == [form.replace("{}", text) for text in alone]


@pytest.mark.parametrize("text", ["a < b", "<b>One</b> and <b>two</b>", "<b></b>", "<b>5 < 6</b>"])
def test_other_tags_are_not_around_a_line(text: str) -> None:
    assert inner_of_tags(text) == (0, len(text))


@pytest.mark.parametrize("to", ["de", "fr", "es"])
@pytest.mark.parametrize("zone", ["GMT", "EST", "UTC"])
@pytest.mark.parametrize("time", ["5pm", "5 PM", "17:00"])
def test_a_time_zone_behind_any_time_stands(to: str, zone: str, time: str) -> None:
    [one] = translated([f"The call starts at {time} {zone}."], "en", to)
    assert zone in one.text and re.search("17|5", one.text), one.text


@pytest.mark.parametrize(
    ("text", "language", "shown"),
    [
        ("um 2:30 p.m..", "de", "um 14:30."),
        ("um 12 a.m. ab", "de", "um 0:00 ab"),
        ("um 5 am Bahnhof", "de", "um 5 am Bahnhof"),
        ("at 15 a.m.", "en", "at 15:00."),
        ("at 0 a.m.", "en", "at 0:00."),
        ("at 12 a.m.", "en", "at 12 a.m."),
        ("at 2:30 p.m.", "en", "at 2:30 p.m."),
        ("2:30 p.m.", "xx", "2:30 p.m."),
    ],
)
def test_times_of_an_output_are_those_of_its_language(text: str, language: str, shown: str) -> None:
    assert with_hours(text, language) == shown


@pytest.mark.parametrize(
    ("text", "source", "shown"),
    [
        ("at 12 a.m.", "um 12 Uhr", "at 12:00"),
        ("at 12:30 a.m.", "um 12.30 Uhr", "at 12:30"),
        ("at 12 a.m.", "at 12 a.m.", "at 12 a.m."),
        ("at 12 a.m.", "a las 0", "at 12 a.m."),
        ("at 12 p.m.", "um 12 Uhr", "at 12 p.m."),
        ("at 3 a.m. 30.", "um 3 Uhr 30", "at 3:30 a.m."),
        ("at 18 a.m. 30", "um 18 Uhr 30", "at 18:30"),
        ("at 3 a.m. 30 people came", "um 3 Uhr kamen 30", "at 3 a.m. 30 people came"),
        ("at \ue000 a.m.", "um \ue000 Uhr", "at 20:00"),
        ("\ue000 a.m. \ue001", "\ue000 Uhr \ue001", "20:30"),
        ("from 14 to 6 p.m.", "von 14 bis 18 Uhr", "from 14 to 18:00"),
        ("from 14:30 to 6:15 p.m.", "von 14:30 bis 18:15 Uhr", "from 14:30 to 18:15"),
        ("from 9 to 5 p.m.", "von 9 bis 17 Uhr", "from 9 to 5 p.m."),
        ("from 2 to 6 p.m.", "from 2 to 6 p.m.", "from 2 to 6 p.m."),
        ("\ue002 a.m.", "\ue002 Uhr", "14-18:00"),
    ],
)
def test_times_of_an_english_output_are_those_of_its_source(
    text: str, source: str, shown: str
) -> None:
    parts = {"\ue000": "20", "\ue001": "30", "\ue002": "14-18"}

    def with_parts(text: str) -> str:
        return "".join(parts.get(sign, sign) for sign in text)

    assert with_hours(text, "en", source, with_parts).removesuffix(".") == shown.removesuffix(".")
