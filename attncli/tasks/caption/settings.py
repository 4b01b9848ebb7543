"""Settings of `attn caption` for its option -s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from attncli.options.shared import HardAttention, ImageBatches
from models.base.settings import option
from models.config.tables import SearchConfig

OF_TEXTS = ("search.max_ratio", "search.max_extra", "search.split_above")


@dataclass(frozen=True)
class OutputSettings:
    """Files that are written."""

    overwrite: bool = option(False, "let --sidecar replace existing files")


@dataclass(frozen=True)
class CaptionTables:
    """Tables of `attn caption`. Defaults of the search are those saved with the model."""

    UNUSED: ClassVar = OF_TEXTS

    search: SearchConfig = option(SearchConfig, "search; the model has its own defaults")
    output: OutputSettings = option(OutputSettings, "files that are written")
    attention: HardAttention = option(HardAttention, "attention")
    compute: ImageBatches = option(ImageBatches, "computation")


@dataclass(frozen=True)
class CaptionScoreSettings:
    """Scores of captions."""

    attention: bool = option(
        False,
        "score the attention of models over content words, too: its entropy, and the "
        "log-probability that a word loses if its most attended fifth of the image is blurred",
    )


@dataclass(frozen=True)
class ScoredCaptionTables:
    """Tables of `attn evaluate captions`."""

    UNUSED: ClassVar = (*OF_TEXTS, "search.nbest")

    search: SearchConfig = option(SearchConfig, "search; the model has its own defaults")
    scores: CaptionScoreSettings = option(CaptionScoreSettings, "scores")
    attention: HardAttention = option(HardAttention, "attention")
