"""Start of the work of several processes: process 0 prepares a run, then the others join it.

They meet at the key-value store of torch.distributed, which `torchrun` starts. Process 0 may
prepare data for hours; until then the others wait without a time limit.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from attncli.training.distributed.rank import Rank
from attncli.training.distributed.world import ALONE, ProcessGroup, ProcessLost, World
from attncli.training.events import Interrupted

WAIT_SECONDS = 600.0  # that a process waits for another before the run is saved and ends
PAUSE = 0.02  # seconds between two queries of the store
START, READY, JOIN = "start", "ready", "join"  # keys; READY/NUMBER for each process but 0
FAULT, REPORTED = "fault", "reported"  # why another process ended; process 0 reports the end
PATIENCE = 3.0  # seconds before a wait is shown, and before process 1 reports that 0 is lost


class Invitation(NamedTuple):
    """The run that the processes compute together."""

    folder: str  # absolute path; every machine sees it
    threads: int  # of each process


class Meeting:
    """The meeting of the processes of a run; with a single process, it does nothing.

    A `with` block ends the work of all processes when process 0 leaves it. An error of another
    process in the block is told to process 0.
    """

    def __init__(self, rank: Rank) -> None:
        self.rank = rank
        self.group: ProcessGroup | None = None
        self.store: Any = None if rank.size == 1 else open_store()

    def __enter__(self) -> Meeting:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self.store is None:
            return
        with contextlib.suppress(RuntimeError, ProcessLost):  # the others may have ended
            if self.rank.number == 0:
                self.store.set(REPORTED, "")
                self.store.set(START, "")  # to those that still wait for a run
            elif isinstance(error, Exception) and not isinstance(error, ProcessLost):
                reason = str(error) or type(error).__name__
                self.store.set(FAULT, f"process {self.rank.number} of the run ended: {reason}")
            if self.group and not isinstance(error, ProcessLost):
                self.group.close()

    def invite(
        self,
        invitation: Invitation,
        waiting: Callable[[int, int], None],
        stop_requested: Callable[[], bool],
    ) -> World:
        """Let the other processes join a run that is prepared; return all of them.

        waiting: is called with the number of processes that are ready, and of all, if that takes
        more than a few seconds.
        """
        if self.store is None:
            return ALONE
        self.store.set(START, json.dumps(invitation))
        others = [f"{READY}/{number}" for number in range(1, self.rank.size)]
        start = time.monotonic()
        while not self.store.check(others):
            if time.monotonic() - start > PATIENCE:
                waiting(1 + sum(self.store.check([key]) for key in others), self.rank.size)
            if self.store.check([FAULT]):
                raise ProcessLost(self.explain())
            if stop_requested():
                raise Interrupted
            time.sleep(PAUSE)
        self.store.set(JOIN, "")
        return self._join()

    def accept(self) -> Invitation | None:
        """Wait for process 0; return the run to join, or None if there is nothing to do."""
        try:
            while not self.store.check([START]):
                time.sleep(PAUSE)
            found = self.store.get(START).decode()
        except RuntimeError as error:
            raise ProcessLost("process 0 ended before the run began") from error
        return Invitation(*json.loads(found)) if found else None

    def join(self) -> ProcessGroup | None:
        """Join the run, once all processes can compute their part of it.

        Return None if process 0 ends before that.
        """
        self.store.set(f"{READY}/{self.rank.number}", "")
        while not self.store.check([JOIN]):
            if self.store.check([REPORTED]):
                return None
            time.sleep(PAUSE)
        return self._join()

    def explain(self) -> str:
        """Return why another process ended, or "" if it did not say so; process 0 reports it."""
        with contextlib.suppress(RuntimeError):
            if self.rank.number == 0:
                self.store.set(REPORTED, "")
            if self.store.check([FAULT]):
                return str(self.store.get(FAULT).decode())
        return ""

    def is_reported(self) -> bool:
        """Return True if process 0 reports within a few seconds why the run ends."""
        end = time.monotonic() + PATIENCE
        with contextlib.suppress(RuntimeError):
            while time.monotonic() < end:
                if self.store.check([REPORTED]):
                    return True
                time.sleep(PAUSE)
        return False

    def _join(self) -> ProcessGroup:
        from torch.distributed.distributed_c10d import PrefixStore

        store = PrefixStore("group", self.store)
        self.group = ProcessGroup(self.rank, store, WAIT_SECONDS, self.explain)
        return self.group


def open_store() -> Any:
    """Return the key-value store of the processes, which the environment names."""
    from torch.distributed.rendezvous import rendezvous

    try:
        store, *_ = next(rendezvous("env://"))
    except (RuntimeError, ValueError) as error:
        raise ProcessLost(
            f"no connection to the other processes ({error})",
            "MASTER_ADDR and MASTER_PORT as torchrun sets them",
            "start the processes with torchrun, or with attn train --processes N",
        ) from None
    return store
