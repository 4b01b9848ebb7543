"""The kind of input that is a row of several inputs, and settings of its families. No torch."""

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
from models.core.sources import Source


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


class RowSource(Source):
    """Rows: several texts, or texts and an image; one slot per token and per image cell.

    A row is a line whose columns are separated by tabs, in the order of `model.inputs`; the column
    of an image is the path of its file.
    Source: Zoph and Knight 2016; Libovický and Helcl 2017.
    """

    task = "translate"
    ability = "translates rows of several inputs"
    runner = "models.several_inputs.translator:RowTranslator"
    ensemble = "models.engines.translator:EnsembleTranslator"
    has_columns = True
    unused_settings = ("search.max_caption", "search.split_above")
