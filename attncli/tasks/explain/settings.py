"""Settings of `attn explain` for its option -s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attncli.options.tables import HardAttention, PictureSettings
from models.base.settings import option

ExplainFormat = Literal["text", "jsonl"]


@dataclass(frozen=True)
class ExplainTables:
    """Tables of `attn explain`."""

    picture: PictureSettings = option(PictureSettings, "--show and --picture")
    attention: HardAttention = option(HardAttention, "attention")
