"""The thread of a model, with a queue of work.

Requests that arrive while a batch runs form the next batch; the thread never waits for more. A
batch has at most BATCH_COST, or one work. Urgent and bulk work never share one. The work with the
earliest deadline comes first:

    deadline = arrival + PATIENCE * cost of the request / BATCH_COST

Bulk work pauses after each TURN for urgent work, and for bulk work with a quarter of its cost or
less. Work is dropped, also while it is computed, if its future is done: its client has gone, its
time limit has passed, or the service ends.
"""

from __future__ import annotations

import ctypes
import gc
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from attncli.serve._requests import SECONDS, RequestError
from attncli.serve.models import Job, ServedModel
from models.core.errors import (
    DamagedError,
    ModelError,
    NotFoundError,
    ResourceError,
    is_exhausted,
)
from models.core.limits import GIVE_TURN

BATCH = 64  # inputs of one batch
# bounded by work, because 64 long texts would hold the model for many seconds
BATCH_COST = 4000  # characters times outputs of one batch; a request that costs more is bulk work
PATIENCE = 5.0  # seconds that a request of BATCH_COST waits behind those that arrive later
# one search of a line of 25 kB took 3 to 4 processor seconds, in which no other client was served
TURN = 0.2  # seconds that bulk work computes before others have their turn
OTHERS = 4  # times its last turn: seconds in which work of others begins


class Work(NamedTuple):
    """Inputs of one request for one job, and where their results go."""

    job: Job
    inputs: Sequence[object]
    results: Future[Sequence[object]]
    cost: int  # of the inputs: characters times outputs
    request: int  # cost of the whole request
    deadline: float  # by time.monotonic

    @property
    def is_bulk(self) -> bool:
        """True for work of a large request."""
        return self.request > BATCH_COST


class ModelThread:
    """The thread of a model. It opens the model for the first work, and releases it when idle."""

    def __init__(
        self,
        open_model: Callable[[], ServedModel],
        *,
        most: int,
        idle: float,
        on_batch: Callable[[int, float], None] = lambda inputs, seconds: None,
    ) -> None:
        self._open, self._most, self._idle, self._on_batch = open_model, most, idle, on_batch
        self._waiting: list[Work] = []
        self._changed = threading.Condition()  # its lock can be taken again
        self._model: ServedModel | None = None
        self._closed = self._ending = False
        self._running: list[list[Work]] = []  # batches, each in a pause of the one before
        self._pause = 0.0  # when the last one has its next pause; by time.monotonic
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Number of works that wait."""
        return len(self._waiting)

    @property
    def is_open(self) -> bool:
        """True while the model is in memory."""
        return self._model is not None

    def submit(
        self, job: Job, inputs: Sequence[object], *, cost: int = 0, request: int = 0
    ) -> Future[Sequence[Any]]:
        """Add work; return the future of its results. Raises RequestError if too much waits.

        cost: of the inputs. request: of all inputs of the request.
        """
        # by cost, so that a short request passes a large one, and a large one still has its turn
        deadline = time.monotonic() + PATIENCE * request / BATCH_COST
        work = Work(job, inputs, Future(), cost, request, deadline)
        with self._changed:
            if self.waiting >= self._most:  # drop the work of clients that have gone
                # only when the queue is full, because the works that are taken are checked anyway
                self._waiting = [each for each in self._waiting if not each.results.done()]
            if self._closed or self.waiting >= self._most:
                raise RequestError(503, "The service is busy: too many requests wait", SECONDS)
            if self._ending and work.is_bulk:
                raise _ending()
            self._waiting.append(work)
            self._changed.notify()
        return work.results

    def end(self) -> None:
        """Fail bulk work, also while it is computed, and refuse more of it."""
        with self._changed:
            self._ending = True
            for work in [*self._waiting, *chain(*self._running)]:
                if work.is_bulk:
                    with suppress(InvalidStateError):  # it is done
                        work.results.set_exception(_ending())

    def close(self) -> None:
        """Finish the work that waits, then end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        GIVE_TURN.set(self._between)
        while batch := self._next():
            self._timed(batch)
            del batch  # so that an idle engine holds no results

    def _timed(self, batch: list[Work]) -> None:
        started = time.monotonic()
        self._run(batch)
        inputs = sum(len(work.inputs) for work in batch)
        self._on_batch(inputs, time.monotonic() - started)

    def _between(self) -> None:
        """Compute work of smaller requests while a batch of bulk work takes long.

        Raises CancelledError if nobody waits for that batch.
        """
        batch, now = self._running[-1], time.monotonic()
        # a search of a minute would otherwise go on for clients that have gone
        if all(work.results.done() for work in batch):
            raise CancelledError
        if not batch[0].is_bulk or now < self._pause:
            return
        # bulk work also makes room for much smaller bulk work, which would else wait for all of it
        most, until = max(BATCH_COST, batch[0].request // 4), now + OTHERS * TURN
        # bounded, or a stream of short requests would stop the large one for ever
        while time.monotonic() < until and (others := self._taken(most)):
            self._timed(others)
        # the longer the others took, the longer the large work goes on undisturbed
        self._pause = time.monotonic() + max(TURN, (time.monotonic() - now) / OTHERS)

    def _next(self) -> list[Work]:
        """Return the next batch, waiting for work; none at the end."""
        with self._changed:
            while True:
                if batch := self._taken():
                    return batch
                if self._closed:
                    return []
                if not self._changed.wait(self._idle) and self._model is not None:
                    self._model = None
                    free_memory()

    def _taken(self, most: float = math.inf) -> list[Work]:
        """Take the first work of a request of at most that cost, and what shares its batch."""
        batch, others = list[Work](), list[Work]()
        size = cost = 0
        with self._changed:
            for work in sorted(self._waiting, key=lambda one: one.deadline):
                # urgent work in a batch of bulk work would wait for all of it
                same = not batch or (work.job, work.is_bulk) == (batch[0].job, batch[0].is_bulk)
                inputs, costs = size + len(work.inputs), cost + work.cost
                fits = not batch or (inputs <= BATCH and costs <= BATCH_COST)
                if work.results.done():
                    continue
                if work.request <= most and same and fits:
                    batch.append(work)
                    size, cost = inputs, costs
                else:
                    others.append(work)
            self._waiting = others
        return batch

    def _run(self, batch: list[Work]) -> None:
        """Compute a batch; if an input is at fault, compute each work alone."""
        self._running.append(batch)
        self._pause = time.monotonic() + TURN
        try:
            self._computed(batch)
        finally:
            self._running.pop()

    def _computed(self, batch: list[Work]) -> None:
        inputs = [each for work in batch for each in work.inputs]
        try:
            if self._model is None:
                self._model = self._open()
            results = batch[0].job.run(self._model, inputs)
        except BaseException as error:
            # one client's input must not fail the requests of others that share the batch
            if isinstance(error, Exception) and len(batch) > 1:
                for work in batch:
                    if not work.results.done():
                        self._run([work])
                return
            is_known = isinstance(error, ModelError) or is_exhausted(error)
            for work in batch:
                with suppress(InvalidStateError):  # it was cancelled
                    work.results.set_exception(_as_request_error(error) if is_known else error)
        else:
            rest = iter(results)
            for work in batch:
                found = [next(rest) for _ in work.inputs]
                with suppress(InvalidStateError):
                    work.results.set_result(found)


def _ending() -> RequestError:
    return RequestError(503, "The service ends; send large requests again", SECONDS)


def _as_request_error(error: BaseException) -> Exception:
    if isinstance(error, (DamagedError, NotFoundError, ResourceError)):
        return RequestError(503, str(error))
    if isinstance(error, ModelError):
        return RequestError(400, str(error))
    return RequestError(503, "Not enough memory for this request", 2)


def free_memory() -> None:
    """Collect garbage, and return the memory that the allocator keeps (glibc) to the system."""
    # after 24 unfinished bodies of 30 MB, a service held 68 MB of garbage, and glibc 247 MB
    gc.collect()
    with suppress(AttributeError, OSError, TypeError):  # another allocator
        # glibc keeps freed blocks for later requests, so the process would never shrink
        ctypes.CDLL(None).malloc_trim(0)
