"""The thread of a model, with a queue of work.

Requests that arrive while a batch runs form the next batch; the thread never waits for more.
Urgent work comes before bulk work, and after each TURN of work that takes longer. Bulk work becomes
urgent after PATIENCE seconds. Work is dropped, also while it is computed, if its future is
cancelled, because its client has gone or its time limit has passed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from typing import Any, NamedTuple

from attncli.serve.models import Job, ServedModel
from attncli.serve.requests import SECONDS, RequestError
from models.core.errors import (
    DamagedError,
    ModelError,
    NotFoundError,
    ResourceError,
    is_exhausted,
)
from models.core.limits import GIVE_TURN, free_memory

BATCH = 64  # inputs of one batch
PATIENCE = 5.0  # seconds that bulk work waits behind urgent work
TURN = 0.2  # seconds that a batch computes before urgent work has its turn


class Work(NamedTuple):
    """Inputs of one request for one job, and where their results go."""

    job: Job
    inputs: Sequence[Any]
    results: Future[Sequence[Any]]
    since: float  # by time.monotonic


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
        self._urgent: deque[Work] = deque()
        self._bulk: deque[Work] = deque()
        self._changed = threading.Condition()
        self._model: ServedModel | None = None
        self._closed = self._in_between = False
        self._batch: list[Work] = []  # that is computed
        self._turn = 0.0  # when it began, or had its last pause; by time.monotonic
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Number of works that wait."""
        return len(self._urgent) + len(self._bulk)

    @property
    def is_open(self) -> bool:
        """True while the model is in memory."""
        return self._model is not None

    def submit(
        self, job: Job, inputs: Sequence[Any], *, urgent: bool = True
    ) -> Future[Sequence[Any]]:
        """Add work; return the future of its results. Raises RequestError if too much waits."""
        work = Work(job, inputs, Future(), time.monotonic())
        with self._changed:
            if self.waiting >= self._most:  # drop the work of clients that have gone
                self._urgent, self._bulk = (
                    deque(each for each in queue if not each.results.cancelled())
                    for queue in (self._urgent, self._bulk)
                )
            if self._closed or self.waiting >= self._most:
                raise RequestError(503, "The service is busy: too many requests wait", SECONDS)
            (self._urgent if urgent else self._bulk).append(work)
            self._changed.notify()
        return work.results

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
            self._batch = []
            del batch  # so that an idle engine holds no results

    def _timed(self, batch: list[Work]) -> None:
        started = time.monotonic()
        self._run(batch)
        inputs = sum(len(work.inputs) for work in batch)
        self._on_batch(inputs, time.monotonic() - started)

    def _between(self) -> None:
        """Compute urgent work that arrived while a batch takes long.

        Raises CancelledError if nobody waits for that batch.
        """
        if time.monotonic() - self._turn < TURN:
            return
        if all(work.results.cancelled() for work in self._batch):
            raise CancelledError
        current = self._batch
        with self._changed:
            batch = [] if self._in_between else self._taken([self._urgent])
        if batch:
            self._in_between = True
            self._timed(batch)
            self._in_between = False
        self._batch, self._turn = current, time.monotonic()

    def _next(self) -> list[Work]:
        """Return the next batch, waiting for work; none at the end."""
        with self._changed:
            while True:
                queues = [self._urgent, self._bulk]
                if self._bulk and time.monotonic() - self._bulk[0].since > PATIENCE:
                    queues.reverse()
                if batch := self._taken(queues):
                    return batch
                if self._closed:
                    return []
                if not self._changed.wait(self._idle) and self._model is not None:
                    self._model = None
                    free_memory()

    def _taken(self, queues: Sequence[deque[Work]]) -> list[Work]:
        """Take the first work of some queues and all of the same job that fits into its batch."""
        batch: list[Work] = []
        size = 0
        for queue in queues:
            for _ in range(len(queue)):
                work = queue.popleft()
                if batch and (work.job != batch[0].job or size + len(work.inputs) > BATCH):
                    queue.append(work)  # after one turn, the queue is in its order again
                elif not work.results.cancelled():
                    batch.append(work)
                    size += len(work.inputs)
        return batch

    def _run(self, batch: list[Work]) -> None:
        """Compute a batch; if an input is at fault, compute each work alone."""
        self._batch, self._turn = batch, time.monotonic()
        inputs = [each for work in batch for each in work.inputs]
        try:
            if self._model is None:
                self._model = self._open()
            results = batch[0].job.run(self._model, inputs)
        except BaseException as error:
            if isinstance(error, Exception) and len(batch) > 1:
                for work in batch:
                    if not work.results.cancelled():
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


def _as_request_error(error: BaseException) -> Exception:
    if isinstance(error, (DamagedError, NotFoundError, ResourceError)):
        return RequestError(503, str(error))
    if isinstance(error, ModelError):
        return RequestError(400, str(error))
    return RequestError(503, "Not enough memory for this request", 2)
