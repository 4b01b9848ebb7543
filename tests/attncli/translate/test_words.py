"""Texts of one word and headings, translated by `everyday`: what a dictionary knows stands."""

from __future__ import annotations

import random

import pytest

from models import load
from models.engines.ctranslate2_translator import CTranslate2Translator
from models.storage.installed import BOX, is_bundle
from models.text.lexicon import is_one_of
from tests.attncli.command_line import Attn
from tests.attncli.translate.calendar_names import DAYS, MONTHS

DIRECTIONS = [pair for one in ("de", "fr", "es") for pair in (("en", one), (one, "en"))]

pytestmark = pytest.mark.skipif(not is_bundle(BOX / "everyday"), reason="not in the box")


def outputs(attn: Attn, source: str, target: str, texts: list[str], *more: str) -> list[str]:
    """Return the outputs of lines."""
    given = "".join(f"{text}\n" for text in texts)
    found = attn("translate", "-q", "--from", source, "--to", target, *more, given=given)
    return found.out.splitlines()


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_day_and_month_alone_is_translated(attn: Attn, source: str, target: str) -> None:
    names = [[*DAYS[one], *MONTHS[one]] for one in (source, target)]
    found = outputs(attn, source, target, names[0])
    assert [one.lower() for one in found] == [one.lower() for one in names[1]]


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_word_alone_has_a_translation_of_the_lexicon(source: str, target: str) -> None:
    rng, direction = random.Random(3), f"{source}-{target}"
    both = [
        load("everyday", "translate").for_direction(target, source),
        CTranslate2Translator.read(BOX / "everyday", precision="fp32").for_direction(
            target, source
        ),
    ]
    lexicon = both[0].lexicon
    assert lexicon is not None
    starts = [start for start in lexicon._starts if start[0] == direction]
    words = [
        lexicon._read_block(lexicon._starts.index(one))[5].split("\t")[1]
        for one in rng.sample(starts, 20)
    ]
    known = [
        [one for one in lexicon.translations(word, direction) if " " not in one] for word in words
    ]
    texts = [word for word, each in zip(words, known, strict=True) if each]
    for model in both:
        for word, found in zip(texts, model.translate(texts), strict=True):
            assert is_one_of(found.text, lexicon.translations(word, direction)), word
            assert found.confidence is not None and not found.confidence.is_doubtful
    first, second = ([one.text for one in model.translate(texts)] for model in both)
    assert first == second


@pytest.mark.parametrize("target", ["de", "fr", "es"])
def test_a_heading_is_read_as_a_sentence_has_it(attn: Attn, target: str) -> None:
    headings = ["Opening Hours", "Terms of Use", "Save and Close", "Add New Rule", "New York Times"]
    small = ["Opening hours", "Terms of use", "Save and close", "Add new rule", "New York Times"]
    assert outputs(attn, "en", target, headings) == outputs(attn, "en", target, small)


def test_models_together_vote_on_a_word_alone(attn: Attn) -> None:
    texts = ["The dog sleeps.", "Cancel", "A cat."]
    found = outputs(attn, "en", "de", texts, "-m", "everyday", "-m", "everyday")
    assert len(found) == 3 and all(found)
