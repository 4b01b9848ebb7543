"""Several processes of `attn train`: their start, their faults, their devices."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from attncli.jobs import loading
from attncli.options.settings import Options
from attncli.training.processes import Rank
from models.base.errors import ModelError

if TYPE_CHECKING:
    from attncli.training.processes import Processes

SIGNALLED = 128  # added to a signal's number: the exit status of a program that it ended


def launch(processes: int, arguments: Sequence[str]) -> int:
    """Run `attn ARGUMENTS` in several processes by torchrun; return the exit status of process 0.

    Each gets an equal part of the processor's cores, unless OMP_NUM_THREADS or --threads says how
    many. Ctrl-C and SIGTERM are passed on. If a process ends with an error, all are ended.
    """
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    logging.disable(logging.CRITICAL)  # of the launcher: process 0 says what happened
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import parse_args, run

    options = ["--standalone", "--local-addr=127.0.0.1", f"--nproc-per-node={processes}"]
    try:
        run(parse_args([*options, "-m", "attncli", *arguments]))
    except ChildFailedError as error:
        first = error.failures.get(0)  # a process that a signal ended has a negative status
        return first.exitcode if first and first.exitcode > 0 else 1
    except SignalException as error:
        return SIGNALLED + int(error.sigval)
    return 0


@contextlib.contextmanager
def joined(rank: Rank) -> Iterator[Processes]:
    """Give the processes of a run to a `with` block; of several faults, the first alone is told."""
    from attncli.training.processes import Processes  # imports torch

    with Processes(rank) as group:
        try:
            yield group
        except BaseException as error:
            if not group.is_untold() and isinstance(error, ModelError):
                raise typer.Exit(1) from None
            raise


def open_device(rank: Rank, options: Options) -> str:
    """Return the device of this process, its own GPU if there are several; see `loading`."""
    device = loading.open_device(options)
    if rank.size > 1 and device == "mps":
        raise ModelError("several processes on mps", "one process", "or give --device cpu")
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
