"""Several processes of `attn train`: the device of each, and the work of all but process 0."""

from __future__ import annotations

import typer

from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.terminal import console
from attncli.training.distributed.rank import Rank
from models.base.errors import ModelError

SPOKESMAN = 1  # number of the process that reports the loss of process 0


def compute_shards(rank: Rank, options: OpenOptions) -> None:
    """Do the work of a process other than number 0; process 0 reports its errors.

    If process 0 itself is lost, process 1 reports that.
    """
    from attncli.training.run.follower import LeaderLost, follow  # imports torch

    console.be_quiet()  # process 0 writes the remarks
    try:
        follow(rank, lambda: open_device(rank, options))
    except ModelError as error:
        if isinstance(error, LeaderLost) and rank.number == SPOKESMAN:
            raise
        raise typer.Exit(1) from None


def open_device(rank: Rank, options: OpenOptions) -> str:
    """Set the number of threads and return the device of this process; see `loading.open_device`.

    Of several processes on a machine with GPUs, each has its own GPU.
    """
    device = loading.open_device(options)
    if rank.size == 1 or device != "cuda":
        return device
    import torch

    if rank.local >= torch.cuda.device_count():
        raise ModelError(
            f"no GPU for process {rank.local + 1} of this machine, which has "
            f"{torch.cuda.device_count()}",
            "at most one process per GPU",
            "lower the number of processes, or give --device cpu",
        )
    torch.cuda.set_device(rank.local)
    return f"cuda:{rank.local}"
