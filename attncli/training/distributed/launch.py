"""Start several processes on this machine: `attn train --processes N` is short for `torchrun`."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

SIGNALLED = 128  # added to a signal's number: the exit status of a program that it ended


def launch(processes: int, arguments: Sequence[str]) -> int:
    """Run `attn ARGUMENTS` in several processes; return the exit status of process 0.

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
