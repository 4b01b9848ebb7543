"""Word alignment of a run's bundle: its settings, and the statistical aligner if there is one.

The statistical aligner depends on words alone, and the alignment layer is part of the weights. A
run that starts from a bundle of `attn align train` therefore keeps both, and their settings.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from attncli.training.settings.config import RunConfig
from models.base.settings import from_dict
from models.bundle import read_settings
from models.config.tables import AlignConfig
from models.storage.statistical import StatisticalTables, read_statistical


class WordAligner(NamedTuple):
    """The parts of a bundle that align words, other than weights."""

    settings: AlignConfig = AlignConfig()
    statistical: StatisticalTables | None = None


def word_aligner(config: RunConfig) -> WordAligner:
    """Return the aligner of a run: guided by links, or of the initial model; else the defaults."""
    initial = initial_aligner(config)
    guided = guided_alignment(config)
    return initial if guided == AlignConfig() else initial._replace(settings=guided)


def initial_aligner(config: RunConfig) -> WordAligner:
    """Return the aligner of an initial model made by `attn align train`; else the defaults."""
    folder = Path(config.start_from)
    statistical = read_statistical(folder) if config.start_from else None
    if statistical is None:
        return WordAligner()
    stored = read_settings(folder).get("alignment", {})
    return WordAligner(from_dict(AlignConfig, stored, where="alignment"), statistical)


def guided_alignment(config: RunConfig) -> AlignConfig:
    """Return the alignment settings of a guided attention head; the defaults without one."""
    loss = config.train.attention
    if not (config.data.guides and loss.guide):
        return AlignConfig()
    return AlignConfig(layer=loss.guide_layer, head=loss.guide_head, shift=loss.guide_shift)
