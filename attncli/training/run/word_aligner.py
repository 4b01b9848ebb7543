"""Word alignment of a run's bundle: its settings, and the statistical aligner if there is one.

The statistical aligner depends on words alone, and the alignment layer is part of the weights. A
run that starts from a bundle of `attn align train` therefore keeps both, and their settings.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from models.base.settings import from_dict
from models.config.tables import AlignConfig
from models.storage.settings import read_settings
from models.storage.statistical import StatisticalTables, read_statistical


class WordAligner(NamedTuple):
    """The parts of a bundle that align words, other than weights."""

    settings: AlignConfig = AlignConfig()
    statistical: StatisticalTables | None = None


def word_aligner(start_from: str) -> WordAligner:
    """Return the aligner of an initial model made by `attn align train`; else the defaults."""
    folder = Path(start_from)
    statistical = read_statistical(folder) if start_from else None
    if statistical is None:
        return WordAligner()
    stored = read_settings(folder).get("alignment", {})
    return WordAligner(from_dict(AlignConfig, stored, where="alignment"), statistical)
