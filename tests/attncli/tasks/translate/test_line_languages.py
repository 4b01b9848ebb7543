"""`--from auto`: each line is read in its language; those in the target language pass unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.data.lines import Line
from attncli.tasks.translate.lines import LineLanguages
from models import load_classifier
from models.base.errors import ModelError
from tests.attncli.command_line import Attn

TEXTS = ("a dog", "the red house", "", "12 34", "old horse", "  a cat ")


def test_languages_are_recognised_and_lines_in_the_target_language_counted(
    toy_classifier: Path,
) -> None:
    languages = LineLanguages(load_classifier(toy_classifier), "animal")
    lines = [Line(number, text) for number, text in enumerate(TEXTS, 1)]
    found = languages([*lines, Line(7, "a dog", fault="not valid UTF-8")])
    assert [found[n] for n in (0, 4, 5)] == ["animal"] * 3
    assert found[1] not in ("", "animal") and found[2] == found[3] == found[6] == ""
    assert languages.summary == "3 of 7 lines copied, already in animal"
    assert LineLanguages(load_classifier(toy_classifier), "animal").summary == ""


def test_a_target_that_cannot_be_recognised_is_refused(toy_classifier: Path) -> None:
    classifier = load_classifier(toy_classifier)
    with pytest.raises(ModelError, match="'it'; expected a target language that is recognised"):
        LineLanguages(classifier, "it")
    with pytest.raises(ModelError, match="--from auto without --to"):
        LineLanguages(classifier, "")


def test_the_shipped_models_work_together(attn: Attn) -> None:
    lines = ["The dog is old.", "Der Hund ist alt.", "Le chien est vieux.", "das haus"]
    found = attn("translate", "--to", "de", "--from", "auto", "--threads", "1", *lines)
    output = found.out.splitlines()
    assert output[1] == lines[1] and output[3] == lines[3]
    assert output[0] != lines[0] and output[2] != lines[2]
    assert "2 of 4 lines copied, already in de" in found.err


def test_the_shipped_identifier_knows_words_in_any_case() -> None:
    classifier = load_classifier("languages")
    texts = ["the house", "GRACIAS", "danke schön", "plus tard", "kleine kinder", "el gato"]
    assert [result.label for result in classifier.stream(texts)] == [
        *("en", "es", "de", "fr", "de", "es")
    ]
    assert set(classifier.labels) == {"de", "en", "es", "fr"}
