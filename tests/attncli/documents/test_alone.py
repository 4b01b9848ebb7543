"""A text has one translation, alone and with marks of a format around it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import pytest

from attncli.documents.document import DocumentOptions, read_document
from attncli.documents.translation import lines_of, translated
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from models.storage.installed import BOX, is_bundle

if not is_bundle(BOX / "everyday"):
    pytest.skip("the models are not in the box", allow_module_level=True)

SEED = 7
TEXTS = {  # kinds of texts, in which a number or a word is drawn
    "en": (
        *("Terms Of Use", "{} And Security", "How To Open The {}", "Step {n}: Open The {}"),
        *("PRIVACY AND SECURITY", "THE {} IS CLOSED", "READ THIS FIRST", "{n} NEW MESSAGES"),
        *("{n}pm", "{n} PM", "Opening hours: {n}am-6pm", "It opens at {n} a.m.", "12 o'clock"),
        *("Save As...", "Loading…", "Open {}...", "Delete the {} …"),
        *("&File", "E&xit", "Save _As", "&Open the {}", "R & D", "Terms & Conditions"),
        *("{n}", "{n},250.50 EUR", "He has {n} dogs.", "$1{n}", "2.{n}. The {}", "{n} | {n} items"),
        *("The {} is old.", "It’s a {}!", "“{}”, she said.", "Where is the {}?", "a  {}\u00a0here"),
        *("Press Ctrl+S", "The file {{name}}", "😀 Hello World", "- The {}", "Yes | No"),
    ),
    "de": (
        *("Das Alte {}", "DATENSCHUTZ UND SICHERHEIT", "DAS {} IST NEU"),
        *("{n} Uhr", "um {n} Uhr 30", "am {n}. Mai", "{n}.250,50 €", "Er hat {n} Hunde."),
        *("Speichern unter...", "Laden…", "&Datei", "Ja | Nein"),
        *("Das {} ist alt.", "Wo ist das {}?", "„{}“, sagte sie."),
    ),
    "fr": (
        *("Conditions Générales", "TERMES ET CONDITIONS", "{n}h30", "Enregistrer sous..."),
        *("&Fichier", "Il a {n} chiens.", "La {} est vieille.", "« {} », dit-elle."),
        *("{n} 250,50 €", "1.{n}. Le {}"),
    ),
    "es": (
        *("Términos Y Condiciones", "TÉRMINOS Y CONDICIONES", "{n}:30", "Guardar como..."),
        *("&Archivo", "Tiene {n} perros.", "La {} es vieja.", "¿Dónde está la {}?"),
        *("{n}.250,50 €", "1.{n}. La {}"),
    ),
}
WORDS = {
    "en": ("House", "Window", "Door"),
    "de": ("Haus", "Fenster", "Auto"),
    "fr": ("maison", "porte", "voiture"),
    "es": ("casa", "puerta", "mesa"),
}


DIRECTIONS = [("en", "de"), ("en", "es"), ("de", "en"), ("fr", "en"), ("es", "en")]


class Place(NamedTuple):
    """A format and what is around a text in it."""

    format: str  # "" for a line with tags
    before: str
    after: str
    written: Callable[[str], str]  # a text in the format
    read: Callable[[str], str] = html.unescape  # the text of what is written


def unescaped(text: str) -> str:
    return html.unescape(re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", text))


def escaped(text: str) -> str:
    return html.escape(text, quote=False)


def as_markdown(text: str) -> str:
    return text.replace("|", r"\|").replace("_", r"\_")


def as_it_is(text: str) -> str:
    return text


PLACES = (
    *(Place("", *tags, as_it_is) for tags in (("", ""), ("<b>", "</b>"), ("<p><i>", "</i></p>"))),
    Place("", "<b>", "</b>", escaped),
    *(Place("html", f"<{tag}>", f"</{tag}>", escaped) for tag in ("p", "h2", "td")),
    *(
        Place("markdown", before, f"{after}\n", as_markdown, unescaped)
        for before, after in (("", ""), ("## ", ""), ("- ", ""), ("**", "**"), ("[", "](a.html)"))
    ),
    Place("markdown", "| ", " |\n|---|\n", as_markdown, unescaped),
)


def drawn(language: str) -> list[str]:
    random = Random(SEED)
    frames = [(frame, random.randrange(2, 12)) for frame in TEXTS[language]]
    words = (random.choice(WORDS[language]) for _ in frames)
    pairs = zip(frames, words, strict=True)
    return [frame.replace("{}", word).replace("{n}", str(n)) for (frame, n), word in pairs]


@pytest.mark.parametrize("place", PLACES, ids=lambda one: f"{one.format}{one.before}")
@pytest.mark.parametrize(("own", "to"), DIRECTIONS)
def test_a_text_has_the_translation_that_it_has_alone(own: str, to: str, place: Place) -> None:
    texts, language = drawn(own), TranslateOptions(source=own, to=to)
    if place.before == "| ":  # the cells of a table are divided at bars
        texts = [text for text in texts if "|" not in text]
    alone = [one.text for one in TranslateRunner.open(None, language).results(texts)]
    whole = [f"{place.before}{place.written(text)}{place.after}" for text in texts]
    for text, own_text, inside in zip(texts, alone, outputs(whole, place, own, to), strict=True):
        found = inside.removeprefix(place.before).removesuffix(place.after)
        assert place.read(found) == own_text, (text, inside)


def outputs(texts: list[str], place: Place, own: str, to: str) -> list[str]:
    given = TranslateOptions(source=own, to=to, keep_tags=True, document=bool(place.format))
    runner = TranslateRunner.open(None, given)
    if not place.format:
        return [one.text for one in runner.results(texts)]
    read = [read_document(text, place.format, DocumentOptions(to=to, source=own)) for text in texts]
    found = runner.run([lines_of(document) for document in read])
    return [translated(*one) for one in zip(read, found, strict=True)]
