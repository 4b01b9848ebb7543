"""Settings of `attn classify` for its option -s."""

from __future__ import annotations

from dataclasses import dataclass

from attncli.options.tables import HardAttention, PictureSettings, TextBatches
from models.base.settings import option


@dataclass(frozen=True)
class ClassifyTables:
    """Tables of `attn classify`."""

    picture: PictureSettings = option(PictureSettings, "--show and --picture")
    attention: HardAttention = option(HardAttention, "attention")
    compute: TextBatches = option(TextBatches, "computation")
