"""Number of this process among those of a run, from the environment that `torchrun` sets.

Nothing here imports torch.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from models.base.errors import ModelError

NAMES = {"number": "RANK", "size": "WORLD_SIZE", "local": "LOCAL_RANK"}


class Rank(NamedTuple):
    """Number of this process, from 0, and of all processes of the run."""

    number: int = 0
    size: int = 1
    local: int = 0  # number on this machine

    @property
    def is_alone(self) -> bool:
        """Return True if this is the only process of its run."""
        return self.size == 1


def own_rank(processes: int = 1) -> Rank:
    """Return the rank of this process; a single process if `torchrun` did not start it.

    processes: number given on the command line; ModelError if `torchrun` started another number.
    """
    if any(name not in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR")):
        return Rank()
    found = {field: os.environ.get(name, "0") for field, name in NAMES.items()}
    try:
        rank = Rank(**{field: int(value) for field, value in found.items()})
    except ValueError:
        rank = Rank(-1)
    if not 0 <= rank.number < rank.size:
        shown = ", ".join(f"{name}={found[field]}" for field, name in NAMES.items())
        raise ModelError(
            f"the environment variables {shown}",
            "the numbers that torchrun sets",
            "unset RANK and WORLD_SIZE to train in one process",
        )
    if processes not in (1, rank.size):
        raise ModelError(
            f"--processes {processes} in one of {rank.size} processes started by torchrun",
            "one of them",
            "leave out --processes",
        )
    return rank
