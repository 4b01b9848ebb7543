"""Settings of a run of several processes."""

from __future__ import annotations

from dataclasses import replace

from attncli.training.distributed.shards import usual_shards
from attncli.training.settings.config import TrainConfig
from attncli.training.storage.folder import RunFolder, read_config
from models.base.errors import ConfigurationError


def with_shards(folder: RunFolder, config: TrainConfig, processes: int) -> TrainConfig:
    """Return the settings with a number of shards: as given, as the run was started, or the usual.

    A single process needs none.
    """
    if processes == 1:
        return config
    stored = read_config(folder).train.shards if folder.config.exists() else 0
    return divided(config, processes, stored)


def divided(config: TrainConfig, processes: int, stored: int = 0) -> TrainConfig:
    """Return the settings of several processes with a number of shards: given, stored or usual."""
    shards = config.shards or stored or usual_shards(processes)
    if shards < processes:
        raise ConfigurationError(
            f"{processes} processes for train.shards={shards}",
            f"at most {shards} processes",
            f"to use more, start another run with -s train.shards={usual_shards(processes)}",
        )
    return replace(config, shards=shards)
