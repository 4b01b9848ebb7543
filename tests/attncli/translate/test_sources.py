"""Lines without `--from`: read in the language that they surely have, behind every door."""

from __future__ import annotations

from typing import Any

import pytest

from attncli import load
from models.storage.installed import BOX, is_bundle
from tests.attncli.command_line import Attn

if not is_bundle(BOX / "everyday"):
    pytest.skip("the models are not in the box", allow_module_level=True)

TEXTS = ["El tren sale a las ocho.", "The train leaves at eight.", "Le chien dort dans la maison."]


def test_a_line_of_an_untrained_direction_is_recognised(attn: Attn) -> None:
    found = attn("translate", "--to", "de", *TEXTS)
    assert found.out.splitlines() == [
        attn("translate", "--to", "de", "--from", language, text).out.rstrip()
        for language, text in zip(("es", "en", "fr"), TEXTS, strict=True)
    ]
    assert "1 line read as es, 1 line read as fr: --from LANGUAGE gives another" in found.err
    model: Any = load("everyday")
    assert [one.text for one in model.translate(TEXTS, to="de")] == found.out.splitlines()
    assert "read as" not in attn("translate", "--to", "de", TEXTS[1]).err
    assert "read as" not in attn("translate", "--to", "en", *TEXTS).err


def test_a_language_is_sure_with_most_words_of_a_text_and_more_than_one() -> None:
    lexicon = load("everyday").lexicon  # type: ignore[union-attr]
    assert lexicon is not None
    assert [lexicon.sure_language(text) for text in TEXTS] == ["es", "en", "fr"]
    for text in ("", "Paris", "hotel", "Madrid, Bogota, San Salvador", "xq le zz vv"):
        assert lexicon.sure_language(text) in ("", "en"), text
