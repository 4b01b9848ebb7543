"""The settings by which the texts of a run are prepared."""

from __future__ import annotations

from typing import NamedTuple

from attncli.training.settings.config import DataConfig, RunConfig
from models.config.tables import TokenizerConfig


class Preparation(NamedTuple):
    """The settings by which the texts of a run are prepared."""

    data: DataConfig
    tokenizer: TokenizerConfig
    start_from: str  # trained model whose tokenizer is used; "": one is learned
    seed: int  # of sampled lines and of examples that are held out
    longest: int  # a text in tokens; longer ones are left out


def preparation(config: RunConfig) -> Preparation:
    """Return the settings by which the texts of a run are prepared."""
    longest = min(config.data.max_length, config.model.max_source)
    return Preparation(config.data, config.tokenizer, config.start_from, config.train.seed, longest)
