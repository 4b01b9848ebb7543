"""A world of several processes of one training, which meet at the store that torchrun starts.

Nothing here imports torch before it is needed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from attncli.training.interfaces import ProcessLost, World
from models.core.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor, nn

LAUNCHED = ("RANK", "WORLD_SIZE", "MASTER_ADDR")  # variables that torchrun sets
WAIT_SECONDS = 600.0  # that a process waits for another before the run is saved and ends
PAUSE = 0.02  # seconds between two queries of the store
START, END, TOLD = "start", "end", "told"  # keys: a run to join; nothing more to do; faults told
SIGNS = ("gloo", "nccl", "connection", "timed out", "timeout", "socket")  # of a lost process


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


class Processes(World):
    """The processes of a run, seen from one of them.

    They meet at the key-value store that `torchrun` starts. All make the same calls; one that fails
    raises ProcessLost. As a `with` block, process 0 ends the wait of the others when it leaves, and
    of several faults the first alone is told.
    """

    def __init__(self, rank: Rank) -> None:
        self.number, self.size, self.local = rank
        self.store: Any = None

    def __enter__(self) -> Processes:
        self.store = open_store()
        return self

    def __exit__(self, *error: Any) -> None:
        import torch.distributed as dist

        fault = error[1]
        is_told = fault is not None and not self.is_untold()
        with contextlib.suppress(RuntimeError):  # the others may have ended
            if self.number == 0:
                self.store.set(END, "")
            if dist.is_initialized() and fault is None:
                dist.destroy_process_group()
        if is_told and isinstance(fault, ModelError):
            raise typer.Exit(1) from None

    def own_device(self, device: str) -> str:
        """Return the device of this process: its own GPU, if there are some."""
        if device == "mps":
            raise ModelError("several processes on mps", "one process", "or give --device cpu")
        if device != "cuda":
            return device
        import torch

        if self.local >= torch.cuda.device_count():
            raise ModelError(
                f"no GPU for process {self.local + 1} of this machine, which has "
                f"{torch.cuda.device_count()}",
                "at most one process per GPU",
                "lower the number of processes, or give --device cpu",
            )
        torch.cuda.set_device(self.local)
        return f"cuda:{self.local}"

    def begin(self, folder: Path) -> None:
        """Let the others join the run of a folder, which every machine sees; for process 0."""
        self.store.set(START, str(folder.absolute()))
        self._join()

    def wait(self) -> Path | None:
        """Wait for process 0, however long; return the folder of the run, None if there is none."""
        with self.losses():
            while not self.store.check([START]):
                if self.store.check([END]):
                    return None
                time.sleep(PAUSE)
            folder = Path(self.store.get(START).decode())
        self._join()
        return folder

    def first(self, value: float) -> float:
        """Return the value of process 0."""
        import torch

        found = torch.tensor(value, dtype=torch.float64)
        with self.losses():
            torch.distributed.broadcast(found, 0)
        return float(found)

    def total(self, values: Sequence[float]) -> list[float]:
        """Return the sums of the values over the processes."""
        import torch

        # float64, because float32 counts tokens exactly only up to 2 ** 24
        found = torch.tensor(values, dtype=torch.float64)
        with self.losses():
            torch.distributed.all_reduce(found)
        return [float(value) for value in found]

    def gather(self, content: bytes) -> list[bytes]:
        """Return the bytes of every process."""
        import torch

        lengths = self._collect(torch.tensor([len(content)])).flatten().tolist()
        padded = bytearray(content).ljust(max(1, *lengths), b"\0")
        rows = self._collect(torch.frombuffer(padded, dtype=torch.uint8))
        return [row[:n].numpy().tobytes() for row, n in zip(rows, lengths, strict=True)]

    def adding(self, module: nn.Module) -> nn.Module:
        """Return the module with gradients that are the means over the processes.

        Its parameters become those of process 0.
        """
        from torch import nn

        with self.losses():
            # an update may leave parts without a gradient, which torch refuses otherwise
            return nn.parallel.DistributedDataParallel(module, find_unused_parameters=True)

    @contextlib.contextmanager
    def losses(self) -> Iterator[None]:
        """Raise ProcessLost for an exchange in this `with` block that fails or takes too long."""
        try:
            yield
        except RuntimeError as error:
            if not any(sign in str(error).lower() for sign in SIGNS):
                raise
            raise ProcessLost(
                f"a process of this run was lost, or did not answer within {WAIT_SECONDS:g} s",
                "all processes until the run ends",
                "the same command continues the run",
            ) from error

    def is_untold(self) -> bool:
        """Return True if no other process has told, or asked this, why the run ends."""
        try:
            return bool(self.store.add(TOLD, 1) == 1)
        except RuntimeError:  # the store has ended with process 0
            return self.number == 1

    def _collect(self, values: Tensor) -> Tensor:
        """Return the values (N,) of every process, (W, N)."""
        import torch.distributed as dist

        found = values.new_empty(self.size, len(values))
        with self.losses():
            dist.all_gather(list(found), values)
        return found

    def _join(self) -> None:
        import torch
        from torch.distributed.distributed_c10d import PrefixStore

        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        with self.losses():
            torch.distributed.init_process_group(
                backend,
                store=PrefixStore("group", self.store),
                rank=self.number,
                world_size=self.size,
                timeout=timedelta(seconds=WAIT_SECONDS),
            )


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
