"""Settings of a run of several processes."""

from __future__ import annotations

from dataclasses import replace

from attncli.training.distributed.shards import usual_shards
from attncli.training.settings.config import RunConfig, TrainConfig
from attncli.training.storage.folder import RunFolder, read_config
from models.base.errors import ConfigurationError


def with_shards(folder: RunFolder, config: RunConfig, processes: int) -> RunConfig:
    """Return the settings with a number of shards: as given, as the run was started, or the usual.

    A single process needs none.
    """
    if processes == 1:
        return config
    stored = read_config(folder).train.shards if folder.config.exists() else 0
    return divided(config, processes, stored)


def divided(config: RunConfig, processes: int, stored: int = 0) -> RunConfig:
    """Return the settings of several processes with a number of shards: given, stored or usual."""
    check_divisible(config.train)
    shards = config.train.shards or stored or usual_shards(processes)
    if shards < processes:
        raise ConfigurationError(
            f"{processes} processes for train.shards={shards}",
            f"at most {shards} processes",
            f"to use more, start another run with -s train.shards={usual_shards(processes)}",
        )
    return replace(config, train=replace(config.train, shards=shards))


def check_divisible(config: TrainConfig) -> None:
    """Raise ConfigurationError for settings that a model divided among processes does not have."""
    refused = {
        "train.self_critical_from": "rewards are computed by a model that is not divided",
        "train.encoder_from": "parameters of a divided model cannot be frozen and unfrozen",
    }
    for name, reason in refused.items():
        value = getattr(config, name.removeprefix("train."))
        if config.shard_model and value:
            raise ConfigurationError(
                f"{name}={value} with train.shard_model", f"{name}=0, because {reason}"
            )
