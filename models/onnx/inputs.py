"""Inputs of a model's graphs: one class per kind of input, which the source names.

A class states the names of the inputs, example inputs for tracing, how the model encodes them, and
what a program must know to make them.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

import torch
from torch import Tensor

from models.base.limits import OUTPUT_TOKENS
from models.base.types import Memory
from models.bundle import Bundle
from models.config import ModelConfig
from models.encoders.image import ImageEncoder
from models.families.encoder_decoder import EncoderDecoder
from models.inference.search.hypotheses import caption_limit
from models.text.labels import LABELS
from models.text.normalise import REPLACEMENTS
from models.text.tokenizer import END


class GraphInputs:
    """Inputs of the graphs of one kind of model."""

    names: ClassVar[tuple[str, ...]]
    one_step: ClassVar[bool] = False  # True if the model predicts a single token: a label
    examples: ClassVar[tuple[str, ...]]  # programs in models/onnx/examples that run the graphs

    def example(self, config: ModelConfig, batch: int, length: int) -> tuple[Tensor, ...]:
        """Return inputs of a batch; length: of a text in tokens."""
        raise NotImplementedError

    def encode(self, model: EncoderDecoder, *given: Tensor) -> Memory:
        """Return the memory of inputs."""
        raise NotImplementedError

    def describe(self, bundle: Bundle) -> dict[str, Any]:
        """Return settings that a program needs to make the inputs and to end the outputs."""
        raise NotImplementedError


class TokenIds(GraphInputs):
    """Ids (B, S) of texts with their mask."""

    names = ("ids", "mask")
    examples: ClassVar[tuple[str, ...]] = ("greedy", "translate")

    def example(self, config: ModelConfig, batch: int, length: int) -> tuple[Tensor, ...]:
        """Return texts of this length; the last one has a padded token."""
        mask = torch.ones(batch, length, dtype=torch.bool)
        mask[-1, -1] = False
        return torch.full((batch, length), END), mask

    def encode(self, model: EncoderDecoder, *given: Tensor) -> Memory:
        """Return the memory of ids (B, S) and mask (B, S)."""
        ids, mask = given
        return model.encode(ids, mask)

    def describe(self, bundle: Bundle) -> dict[str, Any]:
        """Return how texts become ids, and the greatest lengths."""
        search, tokenizer = bundle.search, bundle.tokenizer
        return {
            "normalise": REPLACEMENTS,
            "ends_source": True,
            "languages": {
                language: tokenizer.language_id(language)
                for language in bundle.tokenizer_config.languages
            },
            "max_source": bundle.model.config.max_source,
            "max_output": {
                "ratio": search.max_ratio,
                "extra": search.max_extra,
                "most": OUTPUT_TOKENS,
            },
        }


class LabelledTokenIds(TokenIds):
    """Ids (B, S) of texts with their mask, for a label."""

    one_step = True
    examples = ("classify",)

    def describe(self, bundle: Bundle) -> dict[str, Any]:
        """Return how texts become ids, and the file of the labels."""
        return {
            "normalise": REPLACEMENTS,
            "ends_source": False,
            "max_source": bundle.model.config.max_source,
            "labels": LABELS,
        }


class Pixels(GraphInputs):
    """Pixels (B, 3, h, w) of images, from 0 to 1."""

    names = ("pixels",)
    examples = ("greedy", "caption")

    def example(self, config: ModelConfig, batch: int, length: int) -> tuple[Tensor, ...]:
        """Return random images."""
        return (torch.rand(batch, 3, config.image.size, config.image.size),)

    def encode(self, model: EncoderDecoder, *given: Tensor) -> Memory:
        """Return the memory of images; every cell is real."""
        (pixels,), (rows, columns) = given, grid_of(model)
        cells = pixels.new_ones(pixels.shape[0], rows * columns, dtype=torch.bool)
        return model.encode(pixels, cells)

    def describe(self, bundle: Bundle) -> dict[str, Any]:
        """Return how images become pixels, the grid of cells, and the greatest length."""
        image = bundle.model.config.image
        return {
            "image": {"size": image.size, "fit": image.fit},
            "grid": list(grid_of(bundle.model)),
            "max_output": {"most": caption_limit(bundle.search)},
        }


def grid_of(model: EncoderDecoder) -> tuple[int, int]:
    """Return rows and columns of the cells of an image."""
    return cast(ImageEncoder, model.encoder).grid
