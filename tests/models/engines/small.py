"""Models with random weights, their inputs and searches."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy
import torch
from PIL import Image

from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines.translator import Translator
from models.networks.bundle import Bundle, sizes_of
from models.text.languages import Glossary, Term
from models.text.tokenizer import END, Tokenizer
from tests.models.small import (
    random_model,
    small_config,
)

SEARCHES = {
    "beam": SearchConfig(nbest=3, max_caption=9),
    "greedy": SearchConfig(method="greedy", max_caption=9),
    "sample": SearchConfig(method="sample", nbest=2, max_caption=9),
}
GLOSSARY = Glossary((Term("dog", "Hund"), Term("house", "Haus")))


def noise(side: int) -> Image.Image:
    """Return an image of random colours."""
    random = torch.Generator().manual_seed(1)
    pixels = torch.randint(256, (side, side, 3), generator=random, dtype=torch.uint8)
    return Image.fromarray(pixels.numpy())


def bundle_of(preset: str, tokenizer: Tokenizer, **changes: Any) -> Bundle:
    config = dataclasses.replace(small_config(preset), **changes)
    model = random_model(config, sizes_of(tokenizer, config.family))
    with torch.no_grad():
        model.output.bias[3] -= 2.0  # it says something
    search = SearchConfig(max_caption=12)
    return Bundle(model, tokenizer, TokenizerConfig(), search)


def make_images(count: int) -> list[Image.Image]:
    random = numpy.random.default_rng(1)
    return [
        Image.fromarray(random.integers(0, 255, (40, 33 + n, 3), numpy.uint8)) for n in range(count)
    ]


def random_translator(preset: str, tokenizer: Tokenizer) -> Translator:
    config = small_config(preset)
    model = random_model(config, sizes_of(tokenizer, config.family), noise=0.1)
    with torch.no_grad():
        model.output.bias[END] += 1.0
    return Translator(Bundle(model, tokenizer, TokenizerConfig(), SearchConfig()))
