"""Settings of `attn translate` for its option -s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

from attncli.documents.registry import FORMATS, PACKED, TEXT
from attncli.options.tables import HardAttention, PictureSettings, TextBatches
from attncli.tasks.translate.line_plans import LongLines
from models.base.settings import option
from models.config.tables import AlignConfig, SearchConfig
from models.inference.ctranslate2.engines import Engine


@dataclass(frozen=True)
class InputSettings:
    """Format of the input."""

    format: str = option(
        "",
        "format of the input (empty: by the name of the file; text, for lines)",
        choices=("", TEXT, *FORMATS, *PACKED),
    )
    keep: tuple[str, ...] = option((), "jsonl: translate all text fields but these")


@dataclass(frozen=True)
class LineSettings:
    """Conversion of lines to texts."""

    long_lines: str = option(
        "split",
        "lines that are too long for the model: split (at sentence ends) or refuse",
        choices=get_args(LongLines),
    )


@dataclass(frozen=True)
class TranslateBatches(TextBatches):
    """Computation of translations."""

    backend: str = option(
        "auto",
        "program of the search: torch; ctranslate2, for text Transformers on the processor; auto: "
        "ctranslate2 where it can, else torch",
        choices=get_args(Engine),
    )


@dataclass(frozen=True)
class TranslateTables:
    """Tables of `attn translate`. Defaults of search and align are those saved with the model."""

    UNUSED: ClassVar = ("search.max_caption", "align.symmetrise")

    search: SearchConfig = option(SearchConfig, "search; the model has its own defaults")
    input: InputSettings = option(InputSettings, "format of the input")
    text: LineSettings = option(LineSettings, "lines")
    align: AlignConfig = option(AlignConfig, "--align, --show and --picture")
    picture: PictureSettings = option(PictureSettings, "--show and --picture")
    attention: HardAttention = option(HardAttention, "attention")
    compute: TranslateBatches = option(TranslateBatches, "computation")
