"""`attn train` in several processes: how they are launched, and the work of those that follow."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence

import typer

from attncli.options.loading import open_device
from attncli.options.settings import Options
from attncli.processes._group import Processes, own_rank
from attncli.terminal import console
from attncli.train.display import memory_advice
from attncli.train.folder import RunFolder, read_config
from attncli.training.interfaces import ALONE, World

SIGNALLED = 128  # added to a signal's number: the exit status of a program that it ended
# of a child, which searches modules where this process does: with `-m`, a `json.py` of the current
# folder would be run
PROGRAM = "import sys; sys.path[:] = {!r}; from attncli.shell.app import main; main()"


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
    child = [sys.executable, "-I", "-c", PROGRAM.format(sys.path)]
    try:
        run(parse_args([*options, "--no-python", *child, *arguments]))
    except ChildFailedError as error:
        first = error.failures.get(0)  # a process that a signal ended has a negative status
        return first.exitcode if first and first.exitcode > 0 else 1
    except SignalException as error:
        return SIGNALLED + int(error.sigval)
    return 0


def open_several(processes: int, options: Options, *, dry_run: bool) -> World:
    """Return the world of process 0, or of a single process; the others work here, and end."""
    rank = own_rank(processes)
    if not rank.number:
        return Processes(rank) if rank.size > 1 else ALONE
    if not dry_run:
        follow(Processes(rank), options)
    raise typer.Exit


def follow(group: Processes, options: Options) -> None:
    """Do the work of a process other than number 0, which stops and saves the run."""
    from attncli.train.job import train_along  # imports torch

    console.be_quiet()  # process 0 writes the remarks
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with group:
        device = group.own_device(open_device(options))
        if folder := group.wait():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            config = read_config(RunFolder(folder))
            with memory_advice(config.train):
                train_along(group, config, folder, device)
