"""Set phrases of letters, shops and forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.text import phrases
from models.text.phrases import LANGUAGES, Fixed, fixed_part, phrase_languages
from tests.attncli.command_line import Attn
from tests.docs.pages import require_models


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("Kind regards,", "de", Fixed("Mit freundlichen Grüßen,")),
        ("Kind regards, Anna Berg", "fr", Fixed("Cordialement, Anna Berg")),
        ("Dear Mr. Berg, we thank you.", "de", Fixed("Sehr geehrter Herr Berg, ", "we thank you.")),
        ("Dear Ms Berg", "es", Fixed("Estimada Sra. Berg")),
        ("Order no.: 12", "fr", Fixed("N° de commande : ", "12")),
        ("Order no. 12", "de", Fixed("Bestellnr. ", "12")),
        ("Subject: A red car", "de", Fixed("Betreff: ", "A red car")),
        ("ADD TO CART", "de", Fixed("IN DEN WARENKORB")),
        ("add to cart", "fr", Fixed("ajouter au panier")),
        ("In stock!", "es", Fixed("¡En stock!")),
        ("12.00 € incl. VAT", "de", Fixed("12.00 € inkl. MwSt.")),
        ("Size: M", "de", Fixed("Größe: M")),
        ("Page 3", "de", Fixed("Seite ", "3")),
        ("Serial number", "fr", Fixed("Numéro de série")),
        ("Spare part no. 12-A", "de", Fixed("Ersatzteilnr. 12-A")),
        ("FLIGHT NO. LH 454", "es", Fixed("N.º DE VUELO LH 454")),
        ("Widget no.:", "fr", Fixed("", "Widget number:")),
        ("Widget no.: 3", "fr", Fixed("", "Widget number: 3")),
    ],
)
def test_a_line_or_its_beginning_or_its_end_is_known(
    text: str, target: str, expected: Fixed
) -> None:
    assert fixed_part(text, "en", target) == fixed_part(text, "", target) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The price is high.",
        "Page",
        "I send you kind regards.",
        "Price and quality",
        "Dear Mr",
        "",
        "Of course no.",
    ],
)
def test_a_part_of_a_sentence_is_no_set_phrase(text: str) -> None:
    assert fixed_part(text, "en", "de") is None
    assert fixed_part("Item", "en", "it") is None


def test_the_table_has_every_language_in_every_row() -> None:
    lines = Path(phrases.__file__).with_name("phrases.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    assert all(len(row) == 1 + len(LANGUAGES) and all(row) and row[0] in "wlnebs" for row in rows)
    assert len({row[1] for row in rows}) == len(rows) > 250
    for kind, english, *others in rows:
        for language, text in zip(LANGUAGES[1:], others, strict=True):
            if kind in "wle":
                assert fixed_part(english, "en", language) == Fixed(text)
                assert fixed_part(text, language, "en")


def test_the_model_in_the_box_uses_it_unless_verbatim(attn: Attn) -> None:
    require_models("box")
    words = ["translate", "--from", "en", "--to", "de"]
    assert attn(*words, "Cart").out == "Warenkorb\n"
    assert attn(*words, "--verbatim", "Cart").out != "Warenkorb\n"


def test_a_set_phrase_tells_its_language() -> None:
    assert phrase_languages("kind Regards") == {"en"}
    assert "fr" in phrase_languages("Cordialement")
    assert not phrase_languages("Kind people")
