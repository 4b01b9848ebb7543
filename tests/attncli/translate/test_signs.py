"""Signs and small numbers of a text stand in its translation, by the model in the box."""

from __future__ import annotations

import re
from random import Random

import pytest

from attncli.faithful._kinds import CURRENCIES
from attncli.faithful.protect import SOFT, is_sign
from attncli.faithful.result import TranslatedLine
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from models.storage.installed import BOX, is_bundle

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
