"""Settings of the families that read several inputs. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from models.core.config import (
    AttendingConfig,
    ImageModelConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
    TextConfig,
    TransformerDecoderConfig,
    named,
)
from models.core.settings import option


@dataclass(frozen=True, eq=False, repr=False)
class RowConfig(ImageModelConfig):
    """A model that reads several inputs."""

    source: ClassVar[str] = "rows"

    inputs: tuple[str, ...] = option(
        (),
        "several inputs: columns of a row that the decoder reads, texts first, as in source,draft; "
        "the last may be an image, as in source,picture:image",
    )
    combination: str = option(
        "flat",
        "several inputs: attention to them; `attn models` lists them",
        registry="combination",
    )


@dataclass(frozen=True, eq=False, repr=False)
class MultiSourceConfig(
    RowConfig, AttendingConfig, ReadoutConfig, TextConfig, RecurrentEncoderConfig
):
    """RNNsearch over several inputs."""

    builds: ClassVar[str] = "models.several_inputs.families:MultiSource"

    family: str = named("multi-source")


@dataclass(frozen=True, eq=False, repr=False)
class MultiSourceTransformerConfig(RowConfig, TransformerDecoderConfig):
    """Transformer over several inputs."""

    builds: ClassVar[str] = "models.several_inputs.families:MultiSourceTransformer"

    family: str = named("multi-source-transformer")
