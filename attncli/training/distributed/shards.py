"""Virtual shards: the fixed number of parts into which the examples of an update are divided.

The number K of shards is a setting of the run (train.shards). Process r of W computes consecutive
shards. Random numbers depend on seed, update and shard, so the gradient of a shard does not depend
on the process that computes it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attncli.training.settings.config import TrainConfig
from models.base.errors import ConfigurationError

LEAST = 4  # shards of a run of several processes, unless it names fewer


def divided(config: TrainConfig, processes: int) -> TrainConfig:
    """Return the settings with a number of shards, if several processes compute a run.

    By default it is a power of two. Raises ConfigurationError if a process would get no shard.
    """
    if processes == 1:
        return config
    usual = max(LEAST, 1 << (processes - 1).bit_length())
    shards = config.shards or usual
    if shards < processes:
        raise ConfigurationError(
            f"{processes} processes for train.shards={shards}",
            f"at most {shards} processes",
            f"to use more, start another run with -s train.shards={usual}",
        )
    return replace(config, shards=shards)


def blocks(shards: int, processes: int) -> list[range]:
    """Return the shards of each process; their numbers differ by at most 1."""
    bounds = [shards * number // processes for number in range(processes + 1)]
    return [range(start, end) for start, end in zip(bounds, bounds[1:], strict=False)]


def seed_of(seed: int, update: int, shard: int) -> int:
    """Return the seed of the random numbers of one shard of an update."""
    return int(np.random.SeedSequence([seed, update, shard]).generate_state(1, np.uint64)[0] >> 1)


def split(numbers: np.ndarray, shards: int, shared: np.ndarray | None) -> list[np.ndarray]:
    """Divide a batch, given as example numbers, among the shards; some may get none.

    shared: group id of each example of the data. Examples of one group, which are consecutive in a
    batch, are given to the same shard.
    """
    if shared is None:
        return np.array_split(numbers, shards)
    groups = shared[numbers]
    starts = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    cuts = np.append(np.insert(starts, 0, 0), len(numbers))  # of G groups, (G + 1,)
    bounds = [cuts[(len(cuts) - 1) * shard // shards] for shard in range(shards + 1)]
    return [numbers[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
