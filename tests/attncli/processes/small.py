"""Runs of several processes, forked from the tests, and what goes wrong in them."""

from __future__ import annotations

import faulthandler
import gc
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch._dynamo  # by DistributedDataParallel: once, before the processes fork
import typer
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from attncli.options.settings import Options
from attncli.processes._group import Processes, Rank
from attncli.processes.several import follow
from attncli.train._stepper import Stepper
from attncli.train.events import Interrupted
from attncli.train.job import train
from attncli.training.config import RunConfig
from models.core.errors import ModelError

LATEST = 280  # seconds after which a process appends its stack to the file of errors
Work = Callable[[int], int | None]  # of the process with a number; returns its exit status


class Gate(NamedTuple):
    """The ends of a pipe that is at its end when all processes have closed `begin`."""

    wait: int
    begin: int


def fork(number: int, size: int, port: int, work: Work, errors: Path, gate: Gate) -> int:
    """Fork one process of a run; return its id."""
    child = os.fork()
    if child:
        return child
    gc.freeze()  # garbage of the parent may wait for threads that do not exist in the child
    os.close(gate.begin)
    os.read(gate.wait, 1)
    result = 70  # of a bug
    try:
        names = {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": size, "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in names.items()})
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_USE_AGENT_STORE": "True"}
        out = os.open(errors, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o666)
        for descriptor in (1, 2):
            os.dup2(out, descriptor)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        faulthandler.dump_traceback_later(LATEST, file=sys.stderr)
        torch.set_num_threads(1)
        result = work(number) or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(result)


def status(process: int) -> int:
    """Wait for a process and return its status; kill it if it is stopped."""
    _, found = os.waitpid(process, os.WUNTRACED)
    if not os.WIFSTOPPED(found):
        return found
    os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]


def run(size: int, work: Work, errors: Path) -> list[int]:
    """Run the processes of a run to their end; append their stderr to a file.

    Return their exit codes, negative for those that a signal ended. One that is stopped is killed
    after process 0 has ended. None begins before all are forked: the thread of the server takes a
    lock of libc for each connection, and a process that is forked at that moment would wait for the
    lock for ever.
    """
    server = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # as of torchrun
    server.set("connected", "")  # when this is done, so is the server's own connection
    gate = Gate(*os.pipe())
    first, *others = [fork(number, size, server.port, work, errors, gate) for number in range(size)]
    os.close(gate.begin)
    os.close(gate.wait)
    statuses = [os.waitpid(first, 0)[1], *map(status, others)]
    return [os.waitstatus_to_exitcode(status) for status in statuses]


SIX_STEPS = ("train.steps=6", "train.evaluate_every=3", "train.metric=loss")
Before = Callable[[int, int], None]  # is called with process and update before each update


def train_in(
    size: int,
    config: RunConfig,
    folder: Path,
    *,
    stop_at: int = 0,
    before: Before = lambda number, update: None,
) -> list[int]:
    """Train in several processes; return their exit codes: 1 for a ModelError, 3 if interrupted.

    stop_at: update after which process 0 is asked to stop; 0: never. before: is called in each
    process before each update.
    """
    compute, updates = Stepper.compute, [0]

    def watched(self: Stepper, *others: Any) -> Any:
        updates.append(self.state.counters.step + 1)
        before(self.world.number, updates[-1])
        return compute(self, *others)

    def lead(group: Processes) -> None:
        for _ in train(
            config,
            folder,
            device="cpu",
            progress=lambda *progress: None,
            stop_requested=lambda: 0 < stop_at <= updates[-1],
            world=group,
        ):
            pass

    def work(number: int) -> int:
        Stepper.compute = watched  # type: ignore[assignment, method-assign]
        try:
            if number:
                follow(Processes(Rank(number, size)), Options("cpu", 1))
            else:
                with Processes(Rank(number, size)) as group:
                    lead(group)
        except Interrupted:
            return 3
        except typer.Exit as end:  # another process tells why
            return end.exit_code
        except ModelError as error:
            sys.stderr.write(f"{number}: {error}\n")
            return 1
        return 0

    return run(size, work, errors(folder))


def errors(folder: Path) -> Path:
    """Return the file of what the processes of a run wrote to stderr."""
    return folder.with_suffix(".errors")


def said(folder: Path) -> str:
    """Return what the processes of a run wrote, without warnings of torch's C++ code."""
    lines = errors(folder).read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if re.match(r"\d: |Traceback|\w*Error", line))


def at(number: int, update: int, action: Callable[[], None]) -> Before:
    """Return a function that acts in one process before one update."""
    return lambda process, step: action() if (process, step) == (number, update) else None


def signal_self(number: signal.Signals) -> Callable[[], None]:
    """Return a function that sends a signal to the process that calls it."""
    return lambda: os.kill(os.getpid(), number)
