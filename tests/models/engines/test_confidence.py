"""Words of both sides that a lexicon does not explain, and the confidence of an output."""

from __future__ import annotations

import math
import random

import pytest

from models.core.types import Hypothesis
from models.core.use_config import ConfidenceConfig
from models.engines._confidence import COMMON, FEATURES, KNOWN, compared, confidence, features
from models.text.languages import Term
from models.text.lexicon import Lexicon, LexiconEntry, pack

WORDS = {"hund": "dog", "rasen": "lawn", "mahngebühr": "reminder fee", "katze": "cat"}
ROWS = [
    *(("de-en", LexiconEntry(form, 3, (other,))) for form, other in WORDS.items()),
    *(("en-de", LexiconEntry(other, 5, (form,))) for form, other in WORDS.items()),
    ("de-en", LexiconEntry("der", KNOWN, ("the",))),
    ("en-de", LexiconEntry("the", KNOWN, ("der",))),
    ("de-en", LexiconEntry("bellt", 2, ("barks", "bay"))),
]
LEXICON = Lexicon(pack(ROWS, 1))


@pytest.mark.parametrize(
    ("source", "output", "lost", "added", "unknown"),
    [
        ("Der Hund bellt.", "The dog barks.", "", "", "barks"),
        ("Der Hund bellt.", "The cat barked.", "hund", "cat", "barked"),
        ("Der Hund.", "The dogs.", "", "", "dogs"),  # an inflection is no other word
        ("Der Rasen.", "The Rasen.", "rasen", "", ""),
        ("Die Mahngebühr.", "The fee.", "mahngebühr", "", "fee"),
        ("Der Hund.", "Lawn.", "hund", "lawn", ""),
        ("", "", "", "", ""),
        ("Der", "of", "", "", ""),
    ],
)
def test_words_that_no_entry_explains(
    source: str, output: str, lost: str, added: str, unknown: str
) -> None:
    found = compared(source, output, "de-en", LEXICON)
    assert [*map(" ".join, found[:3])] == [lost, added, unknown]


def test_words_of_a_glossary_are_explained() -> None:
    terms = (Term("Hund", "Cat Tzara"),)  # a translation that no entry has
    text, output = "Der Hund bellt.", "The cat Tzara barks."
    assert [*map(" ".join, compared(text, output, "de-en", LEXICON)[:3])] == [
        "hund", "cat", "tzara barks"
    ]  # fmt: skip
    found = compared(text, output, "de-en", LEXICON, terms)
    assert [*map(" ".join, found[:3])] == ["", "", "barks"]


def test_a_model_without_a_lexicon_has_no_such_words() -> None:
    assert compared("Der Hund.", "The cat.", "de-en", None) == ((), (), (), COMMON)


@pytest.mark.parametrize("seed", range(5))
def test_confidence_is_the_logistic_function_of_the_features(seed: int) -> None:
    rng = random.Random(seed)
    weights = {name: rng.uniform(-2, 2) for name in FEATURES}
    config = ConfidenceConfig(("de-en",), rng.random(), rng.uniform(-3, 3), **weights)
    size = rng.randint(0, 9)
    output = Hypothesis("The cat", 0.0, -rng.random() * 9, ("x",) * size, tuple(range(size)))
    found = confidence(config, "Der Hund", output, "de-en", LEXICON)
    assert found
    words = compared("Der Hund", "The cat", "de-en", LEXICON)
    pairs = zip(weights.values(), features(output, words), strict=True)
    logit = config.bias + sum(weight * value for weight, value in pairs)
    assert math.log(found.value / (1 - found.value)) == pytest.approx(logit)
    assert found.is_doubtful == (found.value < config.threshold)
    assert confidence(config, "Der Hund", output, "fr-en", LEXICON) is None
