"""Normalisation of source text."""

from __future__ import annotations

import pytest

from models.text.normalise import (
    composed,
    is_all_capitals,
    is_untranslatable,
    normalise,
    outer_symbols,
    sentence_case,
)


def test_spacing_and_apostrophes_become_plain() -> None:
    assert normalise(" It\u2019s\u00a0 here\u202f!\t") == "It's here !"
    assert normalise(normalise("a  b")) == "a b"
    every = "".join(filter(str.isspace, map(chr, range(0x10000))))
    assert normalise(f"a{every}b") == normalise("a\tb") == "a b"


def test_other_characters_stay() -> None:
    for text in ("“a” ‘b", "naïve, 3/4", "a\u200bb"):
        assert normalise(text) == text


def test_accents_are_composed_unless_the_model_knows_marks() -> None:
    decomposed = "Ma\u0308dchen"
    assert composed(decomposed, len) == "M\u00e4dchen"
    assert composed(decomposed, lambda text: -len(text)) == decomposed
    assert composed("M\u00e4dchen", len) == "M\u00e4dchen"


@pytest.mark.parametrize("before", ["", " ", "👍🏽 ", "❤️", "▪ ", "## ", " - ", "> * "])
@pytest.mark.parametrize("after", ["", "  ", " 😀😀 ", "👩‍🚀"])
def test_outer_symbols_are_emoji_and_spaces_before_and_after(before: str, after: str) -> None:
    for inner in ("I ❤️ you!", "`a`", "5 €", "#1", "-5", "*a* - b"):
        assert outer_symbols(before + inner + after) == (before, after)


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
