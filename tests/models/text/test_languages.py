"""Multilingual models: the target-language token, mixed batches, unknown languages, old bundles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.data.embedded import Pair
from models import load
from models.alignment import align, align_translations
from models.core.errors import ModelError
from models.core.use_config import TokenizerConfig
from models.engines.translator import Translator
from models.text.languages import (
    check_direction,
    is_zero_shot,
    known_language,
    parse_direction,
    pivot,
)
from models.text.tokenizer import Tokenizer
from tests.models.text.small import CONFIG, learned, multilingual

TEXTS = ["The old dog sees a small house.", "He ran.", "", "The man sleeps."]


@pytest.fixture(scope="module")
def tokenizer(tiny_pairs: list[Pair]) -> Tokenizer:
    return learned(tiny_pairs)


@pytest.fixture(scope="module")
def bundle(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle with random weights."""
    return multilingual(tokenizer, tmp_path_factory.mktemp("multi"))


@pytest.fixture(scope="module")
def translator(bundle: Path) -> Translator:
    """Return the bundle, loaded."""
    return load(bundle, "translate")


def test_the_source_begins_with_the_token_of_the_target_language(translator: Translator) -> None:
    plain = translator.tokenizer.encode("He ran.")
    for language in CONFIG.languages:
        first, *rest = translator.encode("He ran.", language)
        assert translator.tokenizer.source.id_to_piece(first) == f"<2{language}>"
        assert rest == plain
    assert translator.source_length("He ran.") == len(plain) + 1


def test_no_text_produces_the_token(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("<2de> He ran. <2fr>")
    assert not {tokenizer.language_id(code) for code in CONFIG.languages} & set(ids)
    assert tokenizer.decode(ids) == "<2de> He ran. <2fr>"


def test_a_fixed_direction_equals_a_given_one(translator: Translator) -> None:
    fixed = translator.for_direction("fr", "en")
    assert fixed.translate(TEXTS) == translator.translate(TEXTS, to="fr", source="en")
    assert fixed.translate(TEXTS, to="de") == translator.translate(TEXTS, to="de", source="en")
    assert translator.to == "" and fixed.to == "fr"


def test_forced_decoding_reads_the_token_but_does_not_link_it(translator: Translator) -> None:
    fixed = translator.for_direction("de")
    found = fixed.translate(["He ran."])
    [one] = align_translations(translator, found)  # the translation knows its language
    assert one.links == align_translations(fixed, found)[0].links
    [pair] = align(fixed, [("He ran.", "Er lief.")])
    assert pair.source == ("He", "ran.") and pair.weights.shape == (2, 2)
    assert align(translator.for_direction("fr"), [("He ran.", "Er lief.")])[0].score != pair.score


REFUSED: dict[str, Callable[[Translator], object]] = {
    "one of de, en, fr.*--to": lambda model: model.for_direction("", ""),
    "unknown target language 'dee'.*did you mean de": lambda model: model.for_direction("dee", ""),
    "unknown source language 'sv'.*expected": lambda model: model.for_direction("de", "sv"),
    "'de' as source and target language": lambda model: model.for_direction("de", "de"),
    "no target language": lambda model: model.translate(["He ran."]),
    "unknown source language 'sv'": lambda model: model.translate(
        ["He ran."] * 2, to="de", source=["en", "sv"]
    ),
    "1 target languages for 2 texts": lambda model: model.translate(["He ran."] * 2, to=["de"]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_missing_or_unknown_language_is_refused(translator: Translator, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        REFUSED[message](translator)


def test_a_model_of_one_direction_takes_no_language(tiny_translator: Translator) -> None:
    assert tiny_translator.languages == ()
    assert tiny_translator.for_direction().translate(["He ran."])[0].to == ""
    with pytest.raises(ModelError, match="single direction"):
        tiny_translator.translate(["He ran."], to="de")
    with pytest.raises(ModelError, match="single direction"):
        tiny_translator.for_direction("", "en")


def test_the_only_trained_target_is_the_default() -> None:
    config = TokenizerConfig(languages=("de", "en", "fr"), directions=("de-en", "fr-en"))
    assert check_direction(config, "") == "en"
    assert check_direction(config, "fr") == "fr"


@pytest.mark.parametrize(
    ("to", "source", "expected"),
    [("fr", "de", True), ("fr", "en", False), ("fr", "", False), ("en", "", False)],
)
def test_zero_shot_directions_are_recognised(to: str, source: str, expected: bool) -> None:
    assert is_zero_shot(CONFIG, to, source) is expected
    only_en = TokenizerConfig(languages=CONFIG.languages, directions=("de-en", "fr-en"))
    assert is_zero_shot(only_en, "de") and not is_zero_shot(only_en, "en")
    assert not is_zero_shot(TokenizerConfig(languages=("de", "en")), "de", "en")  # not stored


def test_a_bundle_without_a_token_for_a_language_is_refused(
    tiny_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    folder = multilingual(tiny_tokenizer, tmp_path)
    with pytest.raises(ModelError, match="no token <2de>"):
        load(folder, "translate")


def test_a_direction_is_two_codes() -> None:
    assert parse_direction("en-pt_BR") == ("en", "pt_BR")
    for text in ("en", "en-", "-de", "en-de-fr", "en de", ""):
        with pytest.raises(ValueError):
            parse_direction(text)


def test_an_untrained_direction_is_translated_in_two_steps(translator: Translator) -> None:
    through = translator.for_direction("fr", "de")
    english = translator.for_direction("en", "de").translate(TEXTS)
    french = translator.for_direction("fr", "en").translate([each.text for each in english])
    assert through.through == "en"
    found = through.translate(TEXTS)
    assert [each.text for each in found] == [each.text for each in french]
    assert [each.source for each in found] == TEXTS


def test_a_pivot_needs_both_directions_and_a_source() -> None:
    assert pivot(CONFIG, "de", "fr") == "en"
    assert pivot(CONFIG, "", "fr") == pivot(CONFIG, "en", "fr") == ""
    one_way = TokenizerConfig(languages=("de", "en", "fr"), directions=("en-de", "en-fr"))
    assert pivot(one_way, "de", "fr") == ""


def test_a_code_with_a_region_or_in_capitals_means_a_known_language() -> None:
    known = ("en", "de", "pt_BR", "zh")
    codes = ("EN", "en_US", "en-GB", "de-DE", "pt-br", "zh-Hans-CN", "xx", "")
    meant = ["en", "en", "en", "de", "pt_BR", "zh", "xx", ""]
    assert [known_language(code, known) for code in codes] == meant
