"""Signs and small numbers of a text stand in its translation, by the model in the box."""

from __future__ import annotations

import re
from random import Random

import pytest

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
