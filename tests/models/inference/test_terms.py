"""Terms of a glossary take the place of what translates them."""

from __future__ import annotations

import pytest
import torch

from models import load_translator
from models.catalogue.installed import BOX, is_bundle
from models.inference.translator import translated_by
from models.text.languages import Glossary, Term
from models.text.units import Units

TARGET = Units(("Der", "Hund,", "ja"), ((0, 3), (4, 9), (10, 12)), torch.eye(3))


def test_the_word_that_reads_a_term_alone_is_its_translation_without_its_marks() -> None:
    totals = torch.tensor([0.9, 0.9, 0.9])
    assert translated_by(torch.tensor([0.1, 0.8, 0.0]), totals, TARGET) == (4, 8)
    assert translated_by(torch.tensor([0.6, 0.8, 0.0]), totals, TARGET) == (0, 8)
    assert translated_by(torch.tensor([0.1, 0.5, 0.0]), totals, TARGET) is None  # a compound
    assert translated_by(torch.tensor([0.1, 0.2, 0.0]), totals / 4, TARGET) is None


def test_a_term_that_costs_much_replaces_one_word_and_moves_no_other() -> None:
    if not is_bundle(BOX / "everyday"):
        pytest.skip("the models are not in the box")
    model = load_translator(BOX / "everyday").for_direction("de", "en")
    texts = ["The delivery will arrive on Monday.", "Our customer service is closed today."]
    free = [found.text.split() for found in model.translate(texts)]
    terms = Glossary((Term("delivery", "Zustellung"), Term("customer", "Mandant")))
    first, second = (found.text.split() for found in model.with_glossary(terms).translate(texts))
    assert [word for word, old in zip(first, free[0], strict=True) if word != old] == ["Zustellung"]
    assert any("Mandant" in word for word in second)
