"""Preparation of texts: decided by training sources, and kept with the model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from attncli.data.lines import Line
from attncli.tasks.translate.engine import TranslateOptions
from attncli.tasks.translate.line_plans import plan_line
from models.base.errors import InputError
from models.bundle import Bundle, read, save
from models.inference.translator import Translator
from models.text.normalise import check_untokenised, preparation_for, prepared
from models.use_config import VERBATIM, PrepareConfig, SearchConfig, TokenizerConfig
from tests.upper_model import Upper

USUAL = TranslateOptions()

PLAIN = ["The dog sleeps.", "it's late", "A cat sits on the mat."]


def of(*sources: str) -> PrepareConfig:
    return preparation_for(sources, ["x"] * len(sources))


def test_plain_sentences_have_the_usual_preparation() -> None:
    assert of(*PLAIN) == of() == PrepareConfig()


@pytest.mark.parametrize("sign", ["\u2019", "\u02bc", "'"])
def test_all_apostrophes_become_the_one_of_the_training_sources(sign: str) -> None:
    found = of(*PLAIN[::2], f"it{sign}s late")
    assert found.apostrophes == sign
    assert {prepared(f"it{one}s", found) for one in "'\u2019\u02bc\uff07"} == {f"it{sign}s"}


def test_apostrophes_that_training_has_seen_together_stay_apart() -> None:
    found = of("he\u2019s", "she\u2019s", "'quoted'")
    assert prepared("'he\u02bcs'", found) == "'he\u2019s'"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("spaces", "two  spaces"),
        ("symbols", "- an item"),
        ("symbols", "smile \U0001f600"),
        ("copies", "12"),
        ("capitals", "THE DOG SLEEPS"),
    ],
)
def test_a_way_of_writing_that_training_has_seen_is_not_changed(name: str, text: str) -> None:
    found = of(*PLAIN, text)
    assert asdict(found) == {**asdict(PrepareConfig()), name: False}
    assert of(*PLAIN * 60, text) == PrepareConfig()  # one line of very many
    model = Upper()
    model.prepare = found
    plan = plan_line(Line(1, text), model, USUAL)
    assert plan.parts == [text] and not plan.copied and not plan.capitals


def test_numbers_that_are_copied_in_training_are_copied() -> None:
    assert preparation_for(["12", "a"], ["12", "b"]).copies


def test_an_end_that_training_adds_is_kept() -> None:
    assert not preparation_for(["hello", "bye"], ["Hello.", "Bye!"]).ends
    assert preparation_for(["hello", "Bye."], ["hallo", "Bye!"]).ends


def test_verbatim_changes_nothing() -> None:
    assert prepared(" it\u2019s  so ", VERBATIM) == " it\u2019s  so "


def test_the_preparation_is_kept_in_the_bundle(tiny_translator: Translator, tmp_path: Path) -> None:
    chosen = PrepareConfig("\u2019", spaces=False)
    parts = (tiny_translator.model, tiny_translator.tokenizer, TokenizerConfig(), SearchConfig())
    save(Bundle(*parts, prepare=chosen), tmp_path)
    assert Translator.read(tmp_path).prepare == read(tmp_path).prepare == chosen
    assert tiny_translator.prepare == PrepareConfig()


def test_tokens_of_sentencepiece_are_refused() -> None:
    check_untokenised([*PLAIN, "\u2581the", ""], "x")
    with pytest.raises(InputError, match="SentencePiece tokens"):
        check_untokenised(["\u2581the \u2581dog", "", "\u2581a", "b"], "x")
