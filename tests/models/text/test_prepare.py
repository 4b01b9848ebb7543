"""Normalisation, and preparation of texts: decided by training sources, kept with the model."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from attncli.faithful.plan import Plan
from attncli.faithful.result import Line
from attncli.translate.engine import TranslateOptions
from models.core.errors import InputError
from models.core.use_config import PrepareConfig
from models.text.normalise import (
    check_untokenised,
    composed,
    is_all_capitals,
    is_untranslatable,
    normalise,
    outer_symbols,
    preparation_for,
    prepared,
    sentence_case,
)
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
    plan = Plan.of(Line(1, text), model, USUAL.plan)
    assert plan.texts == [text] and not plan.copied and not plan.capitals


def test_an_end_that_training_adds_is_kept() -> None:
    assert not preparation_for(["hello", "bye"], ["Hello.", "Bye!"]).ends
    assert preparation_for(["hello", "Bye."], ["hallo", "Bye!"]).ends


def test_tokens_of_sentencepiece_are_refused() -> None:
    check_untokenised([*PLAIN, "\u2581the", ""], "x")
    with pytest.raises(InputError, match="SentencePiece tokens"):
        check_untokenised(["\u2581the \u2581dog", "", "\u2581a", "b"], "x")


def test_spacing_and_apostrophes_become_plain() -> None:
    assert normalise(" It\u2019s\u00a0 here\u202f!\t") == "It's here !"
    assert normalise(normalise("a  b")) == "a b"
    every = "".join(filter(str.isspace, map(chr, range(0x10000))))
    assert normalise(f"a{every}b") == normalise("a\tb") == "a b"


def test_accents_are_composed_unless_the_model_knows_marks() -> None:
    decomposed = "Ma\u0308dchen"
    assert composed(decomposed, len) == "M\u00e4dchen"
    assert composed(decomposed, lambda text: -len(text)) == decomposed
    assert composed("M\u00e4dchen", len) == "M\u00e4dchen"


@pytest.mark.parametrize("before", ["", " ", "👍🏽 ", "❤️", "▪ ", "## ", " - ", "> * ", ":: "])
@pytest.mark.parametrize("after", ["", "  ", " 😀😀 ", "👩‍🚀"])
def test_outer_symbols_are_emoji_and_spaces_before_and_after(before: str, after: str) -> None:
    for inner in ("I ❤️ you!", "`a`", "5 €", "#1", "-5", "*a* - b"):
        assert outer_symbols(before + inner + after) == (before, after)
    assert outer_symbols("**Common reasons") == ("**", "")


@pytest.mark.parametrize(
    "text", ["42", "3.14 %", "-----", "12:30 --> 12:31", "https://a.org/x", "www.a.org", "a@b.org"]
)
def test_numbers_rules_and_addresses_are_untranslatable(text: str) -> None:
    assert is_untranslatable(text)


@pytest.mark.parametrize("text", ["4 dogs", "see https://a.org", "二", "and/or", "a@b"])
def test_text_with_words_is_translatable(text: str) -> None:
    assert not is_untranslatable(text)


def test_capitals_are_two_words_or_more() -> None:
    assert is_all_capitals("THE DOG 3 RUNS.") and not is_all_capitals("NATO")
    assert not is_all_capitals("The DOG") and not is_all_capitals("狗 跑")
    assert sentence_case("“THE DOG RUNS.”") == "“The dog runs.”"
