"""Number of this process among those of a run, from the environment that `torchrun` sets.

Nothing here imports torch.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from models.base.errors import ModelError

LAUNCHED = ("RANK", "WORLD_SIZE", "MASTER_ADDR")  # variables that torchrun sets


class Rank(NamedTuple):
    """Number of this process, from 0, and of all processes of the run."""

    number: int = 0
    size: int = 1
    local: int = 0  # number on this machine


def own_rank(processes: int = 1) -> Rank:
    """Return the rank of this process; a single process if `torchrun` did not start it.

    processes: number given on the command line; ModelError if `torchrun` started another number.
    """
    if not set(LAUNCHED) <= os.environ.keys():
        return Rank()
    found = [os.environ.get(name, "0") for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")]
    if not all(map(str.isdecimal, found)) or int(found[0]) >= int(found[1]):
        raise ModelError(
            f"RANK={found[0]} and WORLD_SIZE={found[1]} in the environment",
            "the numbers that torchrun sets",
            "unset them to train in one process",
        )
    rank = Rank(*map(int, found))
    os.environ.setdefault(
        "TORCH_CPP_LOG_LEVEL", "ERROR"
    )  # hints that all parameters have gradients
    if processes not in (1, rank.size):
        raise ModelError(
            f"--processes {processes} in one of {rank.size} processes started by torchrun",
            "one of them",
            "leave out --processes",
        )
    return rank
