"""The processes of a run, and the tensors they exchange.

`ALONE` is the world of a single process; `ProcessGroup` uses torch.distributed: gloo for tensors in
main memory, NCCL for those on GPUs.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from attncli.training.distributed.rank import Rank
from models.base.errors import ResourceError

END, UPDATE, WAIT = 0, 1, 2  # kinds of orders
EVALUATE, ROUND = 3, 4  # begin an evaluation; compute its next round


class Order(NamedTuple):
    """What process 0 tells the others to do next; the fields after `kind` describe an update."""

    kind: int
    step: int = 0  # number of the update, from 1
    epoch: int = 0
    batch: int = 0  # of the update, in the plan of the epoch
    rate: float = 0.0  # learning rate
    baseline: float | None = None  # hard attention: REINFORCE baseline
    by_reward: bool = False  # self-critical training


class ProcessLost(ResourceError):
    """Another process of the run ended, or did not answer in time."""


class World:
    """The processes of a run, seen from one of them: here a single process.

    A call that fails raises ProcessLost.
    """

    number = 0  # of this process, from 0
    size = 1  # number of processes

    def announce(self, order: Order) -> None:
        """Send an order from process 0 to all others."""

    def keep_waiting(self) -> None:
        """Tell the others from time to time that process 0 is busy with other work."""

    def share(self, content: bytes | None) -> bytes:
        """Return the bytes of process 0; the others give None."""
        return content or b""

    def exchange(self, values: Tensor, counts: Sequence[int]) -> Tensor:
        """Send one slice of the values to each process; return the slices received, in their order.

        values: slices of one length, one after another. counts: length received from each process.
        """
        return values

    def collect(self, values: Tensor) -> Tensor:
        """Return the values (N,) of every process, one after another, (W * N,)."""
        return values

    def gather(self, content: bytes) -> list[bytes]:
        """Return the bytes of every process."""
        return [content]


ALONE = World()


class ProcessGroup(World):
    """Several processes, joined by torch.distributed."""

    def __init__(self, rank: Rank, store: Any, seconds: float, explain: Callable[[], str]) -> None:
        """Wait until all processes have called this.

        store: a key-value store that they share. seconds: longest time to wait for another process.
        explain: returns why another process ended, if it said so before.
        """
        self.number, self.size, self.seconds, self.explain = *rank[:2], seconds, explain
        self.announced = time.monotonic()
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        with self.losses():
            dist.init_process_group(
                backend,
                store=store,
                rank=rank.number,
                world_size=rank.size,
                timeout=timedelta(seconds=seconds),
            )

    def close(self) -> None:
        """End the work of the other processes, if this is process 0, and leave the group."""
        if self.number == 0:
            self.announce(Order(END))
        with self.losses():
            dist.destroy_process_group()

    def announce(self, order: Order) -> None:
        """Send an order from process 0 to all others."""
        self.share(json.dumps(order).encode())
        self.announced = time.monotonic()

    def receive(self) -> Order:
        """Return the next order of process 0 other than to wait."""
        order = Order(WAIT)
        while order.kind == WAIT:
            order = Order(*json.loads(self.share(None)))
        return order

    def keep_waiting(self) -> None:
        """Tell the others that process 0 is busy, well before they give up."""
        if time.monotonic() - self.announced > self.seconds / 10:
            self.announce(Order(WAIT))

    def share(self, content: bytes | None) -> bytes:
        """Return the bytes of process 0; the others give None."""
        length = self.broadcast(torch.tensor(len(content or b"")))
        values = torch.empty(int(length), dtype=torch.uint8)
        if content is not None:
            values = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        return self.broadcast(values).numpy().tobytes()

    def exchange(self, values: Tensor, counts: Sequence[int]) -> Tensor:
        """Send a slice to each process; return the slices received. See `World`."""
        received = values.new_empty(sum(counts))
        sent = [len(values) // self.size] * self.size
        with self.losses():
            dist.all_to_all_single(received, values, list(counts), sent)
        return received

    def collect(self, values: Tensor) -> Tensor:
        """Return the values of every process, one after another."""
        found = values.new_empty(self.size * len(values))
        with self.losses():
            dist.all_gather(list(found.chunk(self.size)), values)
        return found

    def gather(self, content: bytes) -> list[bytes]:
        """Return the bytes of every process."""
        lengths = self.collect(torch.tensor([len(content)])).tolist()
        padded = bytearray(content).ljust(max(1, *lengths), b"\0")
        rows = self.collect(torch.frombuffer(padded, dtype=torch.uint8)).view(self.size, -1)
        return [row[:n].numpy().tobytes() for row, n in zip(rows, lengths, strict=True)]

    def broadcast(self, values: Tensor) -> Tensor:
        """Replace the values by those of process 0, and return them."""
        with self.losses():
            dist.broadcast(values, 0)
        return values

    @contextlib.contextmanager
    def losses(self) -> Iterator[None]:
        """Raise ProcessLost for an exchange in this `with` block that fails or takes too long."""
        try:
            yield
        except RuntimeError as error:
            raise ProcessLost(
                self.explain()
                or f"a process of this run was lost, or did not answer within {self.seconds:g} s",
                "all processes until the run ends",
                "the same command continues the run",
            ) from error
