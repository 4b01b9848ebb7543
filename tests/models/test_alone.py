"""Every engine gives an input the result that it has with others, in any order and in threads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from models import load
from models.align_train.hmm import link_probabilities, trained
from models.alignment import AlignConfig, align
from models.engines.captioner import Captioner
from models.engines.ctranslate2_translator import CTranslate2Translator
from models.engines.translator import EnsembleTranslator, Translator
from models.explain.methods import self_weights
from models.storage.presets import PRESETS
from tests.models.engines.small import (
    GLOSSARY,
    SEARCHES,
    bundle_of,
    make_images,
    random_translator,
)
from tests.models.small import reads_images
from tests.models.text.small import CONFIG, learned, multilingual

Run = Callable[[Sequence[Any]], Sequence[Any]]
Get = Callable[[str], Any]  # a fixture by its name
TEXTS = ["The dog sees a house.", "He ran.", "", "My  old dog sleeps in the garden.", "A man."]
PAIRS = [*zip(TEXTS, ["Der Hund sieht es.", "Er lief.", "x", "Mein Hund.", ""], strict=True)]
PAIRS += [("a dog runs", "ein Hund rennt")] * 3
CAPTIONERS = [name for name in PRESETS if name.endswith("nano") and reads_images(name)]


def translating(model: Any, **options: Any) -> tuple[Run, Sequence[Any]]:
    return lambda texts: model.translate(texts, **options), TEXTS


def several_languages(model: Translator) -> tuple[Run, Sequence[Any]]:
    def run(items: Sequence[Any]) -> Sequence[Any]:
        return model.translate([text for text, _ in items], to=[to for _, to in items])

    return run, [(text, CONFIG.languages[n % 3]) for n, text in enumerate(TEXTS)]


def captioning(preset: str, name: str, get: Get) -> tuple[Run, Sequence[Any]]:
    captioner, search = Captioner(bundle_of(preset, get("tiny_tokenizer"))), SEARCHES[name]
    images = make_images(5)  # a feature of an image stands for it
    items = [*images[:3], *captioner.features(images[3:])] if search.method == "beam" else images
    return lambda given: captioner.caption(given, search=search), items


def aligning(model: Translator, units: str) -> tuple[Run, Sequence[Any]]:
    return lambda pairs: align(model, pairs, config=AlignConfig(units=units)), PAIRS


ENGINES: dict[str, Callable[[Get], tuple[Run, Sequence[Any]]]] = {
    "beam": lambda get: translating(get("tiny_translator"), search=SEARCHES["beam"]),
    "greedy": lambda get: translating(get("tiny_translator"), search=SEARCHES["greedy"]),
    "sample": lambda get: translating(get("tiny_translator"), search=SEARCHES["sample"]),
    "small batches": lambda get: translating(get("tiny_translator"), max_batch_tokens=12),
    "glossary": lambda get: translating(get("tiny_translator").with_glossary(GLOSSARY)),
    "ctranslate2": lambda get: translating(CTranslate2Translator.read(get("tiny_bundle"))),
    "ensemble": lambda get: translating(
        EnsembleTranslator(
            [get("tiny_translator"), random_translator("rnnsearch-nano", get("tiny_tokenizer"))]
        )
    ),
    "languages": lambda get: several_languages(get("of_languages")),
    "align words": lambda get: aligning(get("tiny_translator"), "word"),
    "align pieces": lambda get: aligning(get("tiny_translator"), "piece"),
    "align characters": lambda get: aligning(get("tiny_translator"), "char"),
    "self-attention": lambda get: (
        lambda pairs: self_weights(get("tiny_translator"), pairs, AlignConfig()),
        PAIRS[:2] + PAIRS[-2:],
    ),
    "hmm": lambda get: (
        lambda pairs: link_probabilities(trained(PAIRS).tables(), pairs),
        [(source.split(), target.split()) for source, target in PAIRS],
    ),
    "classifier": lambda get: (
        lambda texts: load(get("toy_classifier"), "classify").classify(
            texts, nbest=3, attention=True
        ),
        TEXTS,
    ),
}
for each, kind in itertools.product(CAPTIONERS, ("beam", "sample")):
    ENGINES[f"{each} {kind}"] = partial(captioning, each, kind)


@pytest.fixture
def of_languages(tiny_pairs: Any, tmp_path: Path) -> Translator:
    return Translator.read(multilingual(learned(tiny_pairs), tmp_path))


def same(one: Any, other: Any) -> None:
    """Compare results part by part; numbers up to rounding."""
    if isinstance(one, Tensor) and one.is_floating_point():
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=1e-4, nan_ok=True)
    elif isinstance(one, (tuple, list)):
        for part, its in zip(one, other, strict=True):
            same(part, its)
    else:
        assert one is other or one == other


@pytest.mark.parametrize("name", ENGINES)
def test_an_input_has_one_result_alone_and_with_others(
    name: str, request: pytest.FixtureRequest
) -> None:
    run, items = ENGINES[name](request.getfixturevalue)
    together = run(items)
    assert len({repr(one) for one in together}) > 1
    same(together, [run([item])[0] for item in items])
    same(together, run(items[::-1])[::-1])
    torch.set_num_threads(2)
    try:
        many = run([*items] * math.ceil(20 / len(items)))
    finally:
        torch.set_num_threads(1)
    same(together, many[: len(items)])
