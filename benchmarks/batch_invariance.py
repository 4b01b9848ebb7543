"""Equality of outputs in batches of 1 and of 64, for every family, with random weights.

    python benchmarks/batch_invariance.py --lines 200
    python benchmarks/batch_invariance.py --only seq2seq-nano --double

For each family a small model with random weights translates random lines (or captions random
images) in batches of one and in batches of up to 64. The table shows the number of texts that
differ and the largest difference of a score. Transformers run in both engines. With --double,
translators compute in float64, by torch: texts that differ in float32 only are ties that rounding
decides.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy
import torch
from PIL import Image

from attncli.data.grammar import generate
from models import load_captioner, load_translator
from models.core.registry import source_name
from models.core.types import Translation
from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines.captioner import Caption
from models.engines.ctranslate2_translator import CTranslate2Translator, obstacle
from models.engines.text_translator import TextTranslator
from models.networks.bundle import Bundle, build, save, sizes_of
from models.storage.presets import PRESETS, model_config
from models.storage.settings import read_settings
from models.text.tokenizer import END, Tokenizer, train

ALONE, TOGETHER = 1, 64  # examples of a batch
Output = tuple[str, float]


class Inputs(NamedTuple):
    """Numbers of random inputs, and the seed that they are sampled with."""

    lines: int
    images: int
    seed: int


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=200, help="default 200")
    options.add_argument("--images", type=int, default=32, help="default 32")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", metavar="PRESET", help="this preset only")
    options.add_argument("--double", action="store_true", help="float64, by torch; texts only")
    given = options.parse_args()
    torch.set_num_threads(1)
    pairs = list(generate(240))
    sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
    tokenizer = train(*sides, 400, TokenizerConfig())
    print(f"seed {given.seed}; differences of scores are absolute")
    print(f"{'preset':<34}{'engine':<14}{'inputs':>8}{'texts differ':>14}{'scores differ by':>18}")
    for preset in [given.only] if given.only else [name for name in PRESETS if "nano" in name]:
        with tempfile.TemporaryDirectory() as place:
            folder = small_bundle(preset, tokenizer, Path(place), given.seed)
            if folder:
                inputs = Inputs(given.lines, given.images, given.seed)
                for row in rows(preset, folder, inputs, double=given.double):
                    print(row, flush=True)


def small_bundle(preset: str, tokenizer: Tokenizer, folder: Path, seed: int) -> Path | None:
    """Save a preset with random weights; None for families that give no text."""
    config = model_config(preset)
    kind = source_name(config.family)
    if kind not in ("text", "image"):
        return None
    if kind == "image":
        image = dataclasses.replace(config.image, encoder="small-cnn", weights="none", size=32)
        config = dataclasses.replace(config, image=image)
    torch.manual_seed(seed)
    model = build(config, sizes_of(tokenizer, config.family))
    if not hasattr(model, "output"):
        return None
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)  # so that the scores differ
        model.output.bias[END] -= 1.0
    search = SearchConfig(max_ratio=1.0, max_extra=5, max_caption=12)
    save(Bundle(model.eval(), tokenizer, TokenizerConfig(), search), folder)
    return folder


def rows(preset: str, folder: Path, inputs: Inputs, *, double: bool) -> Iterator[str]:
    """Yield a row for each engine that runs the model. double: of texts in float64, by torch."""
    if source_name(model_config(preset).family) == "image":
        if double:
            return
        captioner = load_captioner(folder)
        pictures = random_images(inputs.images, inputs.seed)
        outputs = [captioned(captioner.caption(pictures, batch=n)) for n in (ALONE, TOGETHER)]
        yield compared(preset, "torch", *outputs)
        return
    texts = random_lines(inputs.lines, inputs.seed)
    translator = load_translator(folder)
    if double:
        torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign]  # fp32 in a model
        translator.model.double()
    engines: dict[str, TextTranslator] = {"torch": translator}
    if not double and not obstacle(read_settings(folder), SearchConfig(), "cpu"):
        engines["ctranslate2"] = CTranslate2Translator.read(folder, threads=1)
    for name, engine in engines.items():
        most = max(map(engine.source_length, texts))
        outputs = [
            translated(engine.translate(texts, max_batch_tokens=size))
            for size in (1, TOGETHER * most)
        ]
        yield compared(preset, name, *outputs)


def random_lines(count: int, seed: int) -> list[str]:
    """Return lines of 1 to 12 words of the grammar in random order."""
    random = Random(seed)
    words = " ".join(pair.source for pair in generate(240)).split()
    return [" ".join(random.choices(words, k=random.randint(1, 12))) for _ in range(count)]


def random_images(count: int, seed: int) -> list[Image.Image]:
    """Return images of random pixels."""
    rng = numpy.random.default_rng(seed)
    return [Image.fromarray(rng.integers(0, 256, (40, 48, 3), numpy.uint8)) for _ in range(count)]


def translated(found: Sequence[Translation]) -> list[Output]:
    """Return text and score of the best output of each line."""
    return [(one.text, one.hypotheses[0].score) for one in found]


def captioned(found: Sequence[Caption]) -> list[Output]:
    """Return text and score of the best caption of each image."""
    return [(one.text, one.hypotheses[0].score) for one in found]


def compared(preset: str, engine: str, alone: list[Output], together: list[Output]) -> str:
    """Return a row of the table."""
    pairs = list(zip(alone, together, strict=True))
    differ = sum(one[0] != other[0] for one, other in pairs)
    most = max(abs(one[1] - other[1]) for one, other in pairs)
    return f"{preset:<34}{engine:<14}{len(pairs):>8,}{differ:>14}{most:>18.1e}"


if __name__ == "__main__":
    main()
