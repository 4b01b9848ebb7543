"""Tables of settings that several commands have; see attncli/options/settings.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from models.base.settings import option
from models.config.tables import BATCH_IMAGES, MAX_BATCH_TOKENS, ReadMode


@dataclass(frozen=True)
class HardAttention:
    """Use of a model with hard attention."""

    read_decode: str = option(
        "",
        "hard attention: read mode, argmax, sample or expected (empty: as saved with the model)",
        choices=("", *get_args(ReadMode)),
        aliases={"expectation": "expected"},
    )


@dataclass(frozen=True)
class TextBatches:
    """Computation over batches of texts."""

    batch_tokens: int = option(MAX_BATCH_TOKENS, "tokens of a batch, padding included", least=1)


@dataclass(frozen=True)
class ImageBatches:
    """Computation over batches of images."""

    batch_images: int = option(BATCH_IMAGES, "images of a batch", least=1)


@dataclass(frozen=True)
class PictureSettings:
    """Pictures of a command that reads lines."""

    lines: str = option("", "lines to draw, such as 1-20,35 (empty: the first)")


@dataclass(frozen=True)
class ReadSettings:
    """Settings of commands that only open a model."""

    attention: HardAttention = option(HardAttention, "attention")
