"""Settings of `attn align` and `attn evaluate alignments` for their option -s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast, get_args

from attncli.data.alignments.links import Index
from attncli.options.tables import HardAttention, PictureSettings, TextBatches
from models.base.settings import option
from models.config.tables import AlignConfig


@dataclass(frozen=True)
class ReadLinkSettings:
    """Reading of links of other programs."""

    index: str = option(
        "",
        "index of the first word in --hypotheses, 0 or 1 (empty: found from the file)",
        choices=("", *get_args(Index)),
    )
    skip_bad: bool = option(False, "leave out links to words that do not exist")

    @property
    def first_word(self) -> Index | None:
        """Index of the first word; None: found from the file."""
        return cast("Index", self.index) if self.index else None


@dataclass(frozen=True)
class LinkSettings(ReadLinkSettings):
    """Reading and writing of links."""

    probabilities: bool = option(False, "write the weight of each link: 0-0:0.93")


@dataclass(frozen=True)
class AlignTables:
    """Tables of `attn align`. Defaults of the alignment are those saved with the model."""

    align: AlignConfig = option(AlignConfig, "alignment; the model has its own defaults")
    links: LinkSettings = option(LinkSettings, "links")
    picture: PictureSettings = option(PictureSettings, "--show and --picture")
    attention: HardAttention = option(HardAttention, "attention")
    compute: TextBatches = option(TextBatches, "computation")


@dataclass(frozen=True)
class ScoredLinkTables:
    """Tables of `attn evaluate alignments`."""

    links: ReadLinkSettings = option(ReadLinkSettings, "links of other programs")
    attention: HardAttention = option(HardAttention, "attention")
