"""Settings of `attn align` for its option -s."""

from __future__ import annotations

from dataclasses import dataclass

from attncli.options.tables import HardAttention, PictureSettings, TextBatches
from models.base.settings import option
from models.config.tables import AlignConfig


@dataclass(frozen=True)
class LinkSettings:
    """Writing of links."""

    probabilities: bool = option(False, "write the weight of each link: 0-0:0.93")


@dataclass(frozen=True)
class AlignTables:
    """Tables of `attn align`. Defaults of the alignment are those saved with the model."""

    align: AlignConfig = option(AlignConfig, "alignment; the model has its own defaults")
    links: LinkSettings = option(LinkSettings, "links")
    picture: PictureSettings = option(PictureSettings, "--show and --picture")
    attention: HardAttention = option(HardAttention, "attention")
    compute: TextBatches = option(TextBatches, "computation")
