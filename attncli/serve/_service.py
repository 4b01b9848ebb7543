"""Everything that handlers share: options, models and their engines, access, metrics."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from starlette.requests import Request
from starlette.responses import JSONResponse

from attncli.options.settings import HardAttention
from attncli.serve._access import Hosts, Keys, Origins, RateLimit
from attncli.serve._catalogue import Catalogue
from attncli.serve._fields import check_fields
from attncli.serve._options import ServeOptions
from attncli.serve._queue import BATCH_COST, ModelThread, free_memory
from attncli.serve._requests import (
    SECONDS,
    Parameters,
    RequestError,
    in_time,
    invalid,
    read_parameters,
    while_connected,
)
from attncli.serve.models import Job, ServedModel
from models.core.attention_config import ReadMode
from models.core.config import FormOfAddress
from models.core.limits import GIVE_TURN
from models.text.languages import Term

T = TypeVar("T")
SLICE = 16  # inputs of one piece of a long request, between which others are served
# each value of JSON is a Python object: a few MB of small ones would take gigabytes
VALUES = 10  # times the characters of a request: values that its body may have
# all pieces at once would fill the queue with one request
AHEAD = 8  # pieces of one request that wait at a time
# malloc_trim takes time, and small bodies leave little behind
LARGE_BODY = 1 << 16  # bytes, after which unused memory goes back to the system
FREE_SECONDS = 2.0  # after the first of several of them
# beside the thread that answers, which a document of some MB would stop
READERS = 2  # documents that are read or written at a time
REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
INPUTS = (1, 2, 4, 8, 16, 32, 64)


class Service:
    """The state of one running service."""

    def __init__(self, options: ServeOptions) -> None:
        """Raise ModelError for options that cannot be used."""
        self.options = options
        self.catalogue = Catalogue(options.models)
        self.hosts, self.keys = Hosts(options), Keys(options.api_keys)
        self.origins = Origins(options)
        self.body_bytes = 0  # of all requests that are not answered
        self._frees = False  # True if `free_memory` will be called
        self.rate = RateLimit(options.rate_limit)
        self._engines: dict[str, ModelThread] = {}
        self._readers = ThreadPoolExecutor(READERS, "documents")
        self.metrics = Metrics()
        self.draining = False  # True from SIGTERM on

    def check_length(self, texts: Sequence[str]) -> None:
        """Raise RequestError if texts have more characters than a request may have.

        An empty text counts as one character.
        """
        size, most = sum(len(text) or 1 for text in texts), self.options.max_text
        if size > most:
            raise invalid(f"request ({size}) exceeds text limit ({most})")

    def release(self, size: int) -> None:
        """Count the bytes of a body no longer."""
        self.body_bytes -= size
        if size > LARGE_BODY and not self._frees:
            self._frees = True
            # later, because the body is referred to until its answer is sent
            asyncio.get_running_loop().call_later(FREE_SECONDS, self._free)

    def _free(self) -> None:
        self._frees = False
        free_memory()

    async def read(self, work: Callable[[], T]) -> T:
        """Return what a function reads of a document, or writes, in a thread.

        Raises RequestError after the time limit, when the function ends as well.
        """
        limit = self.options.time_limit
        until, late = time.monotonic() + limit, _late(limit)

        def in_turns() -> T:
            # a thread cannot be ended from outside, so the reader checks the time itself
            GIVE_TURN.set(check)
            return work()

        def check() -> None:
            if time.monotonic() > until:
                raise late

        running = asyncio.get_running_loop().run_in_executor(self._readers, in_turns)
        return await in_time(running, limit, late)

    async def results(
        self, model: str, job: Job, inputs: Sequence[object], times: int = 1
    ) -> AsyncIterator[Sequence[Any]]:
        """Yield the results of inputs in order, in pieces between which others are served.

        times: multiple of the time limit. Raises RequestError if too many requests wait, or after
        the time limit. Work that is no longer needed is dropped.
        """
        engine, limit = self._engine(model), self.options.time_limit * times
        until, late = time.monotonic() + limit, _late(limit)
        parts = _slices(inputs, BATCH_COST // job.outputs)
        # a document or a recording is bulk work, also where its length is not known
        request = max(_cost(job, inputs), BATCH_COST * times if times > 1 else 0)
        ahead: deque[Future[Sequence[object]]] = deque()
        try:
            while True:
                for part in islice(parts, AHEAD - len(ahead)):
                    cost = _cost(job, part)
                    ahead.append(engine.submit(job, part, cost=cost, request=request))
                if not ahead:
                    return
                result = asyncio.wrap_future(ahead[0])
                yield await in_time(result, until - time.monotonic(), late)
                ahead.popleft()
        finally:
            for piece in ahead:
                # pieces that wait in the queue are dropped when the client has gone
                piece.cancel()

    def end(self) -> None:
        """End large requests; see `ModelThread.end`."""
        for engine in self._engines.values():
            engine.end()

    def close(self) -> None:
        """Finish what has begun and end all engines."""
        for engine in self._engines.values():
            engine.close()

    def _engine(self, name: str) -> ModelThread:
        if name not in self._engines:
            folder = self.catalogue.models()[name].folder
            self._engines[name] = ModelThread(
                partial(ServedModel, folder, self.options.device, self.options.threads),
                most=self.options.max_waiting,
                idle=self.options.idle,
                on_batch=partial(self.metrics.count_batch, name),
            )
            self.metrics.watch(name, self._engines[name])
        return self._engines[name]


class Metrics:
    """Counters of one service for Prometheus, at /metrics. They contain no text of a request."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        labels = ("endpoint", "status")
        self.requests = Counter("attn_requests", "Requests", labels, registry=registry)
        self.seconds = Histogram(
            "attn_request_seconds", "Time of requests", ["endpoint"], buckets=REQUEST_SECONDS,
            registry=registry,
        )  # fmt: skip
        self.batch_inputs = Histogram(
            "attn_batch_inputs",
            "Inputs per batch",
            ["model"],
            buckets=INPUTS,
            registry=registry,
        )
        self.busy = Counter("attn_model_seconds", "Computing time", ["model"], registry=registry)
        self.waiting = Gauge("attn_waiting", "Work that waits", ["model"], registry=registry)
        self.opened = Gauge("attn_model_open", "1 if it is in memory", ["model"], registry=registry)

    def watch(self, model: str, engine: ModelThread) -> None:
        """Show the state of the engine of a model."""
        self.waiting.labels(model).set_function(lambda: engine.waiting)
        self.opened.labels(model).set_function(lambda: engine.is_open)

    def count_batch(self, model: str, inputs: int, seconds: float) -> None:
        """Count a computed batch of a model."""
        self.batch_inputs.labels(model).observe(inputs)
        self.busy.labels(model).inc(seconds)

    def text(self) -> bytes:
        """Return all figures in Prometheus's format."""
        return generate_latest(self.registry)


class Call(NamedTuple):
    """A request with its parameters, and the service that answers it."""

    service: Service
    request: Request
    given: Parameters

    def texts(self) -> list[str]:
        """Return the texts `q`. Raises RequestError if there are none, or they are too long."""
        texts = self.given.texts("q")
        self.service.check_length(texts)
        return texts

    def terms(self, name: str = "glossary") -> tuple[Term, ...]:
        """Return the glossary, or the translation memory; RequestError for one that is too long."""
        given = self.given.values.get(name)
        self.service.check_length([json.dumps(given, ensure_ascii=False)] if given else [])
        return self.given.terms(name, cased=name == "memory")

    def job(self, task: str, **options: Any) -> Job:
        """Return the job of a request that can choose the read mode of hard attention."""
        read = self.given.choice("read_mode", get_args(ReadMode))
        return Job.of(task, attention=HardAttention(read), **options)

    @property
    def address(self) -> str:
        """The setting of the form of address that a client gives."""
        return f"text.address={self.given.choice('address', get_args(FormOfAddress))}"

    @property
    def is_list(self) -> bool:
        """True if `q` is a list, which a list answers."""
        return isinstance(self.given.values["q"], list)

    def answer(self, records: list[object]) -> JSONResponse:
        """Return the answer with a record for each text `q`."""
        return JSONResponse(records if self.is_list else records[0])

    async def run(self, model: str, job: Job, inputs: Sequence[object]) -> list[Any]:
        """Return one result per input; see `Service.results` and `gather`."""
        return await self.gather(self.service.results(model, job, inputs))

    async def gather(self, pieces: AsyncIterator[Sequence[object]]) -> list[Any]:
        """Return the results of all pieces. Raises ClientDisconnect if the client has gone."""

        async def gathered() -> list[Any]:
            return [result async for piece in pieces for result in piece]

        return await while_connected(self.request, gathered())


def _late(limit: float) -> RequestError:
    return RequestError(503, f"Not done within {limit:g} seconds", SECONDS)


def _length(one: Any) -> int:
    """Return the number of characters of an input: a text, a line or a pair; 0 of a file."""
    texts = (one,) if isinstance(one, (str, bytes)) else one
    return sum(len(text) for text in texts if isinstance(text, str))


def _cost(job: Job, inputs: Sequence[object]) -> int:
    return job.outputs * sum(map(_length, inputs))


def _slices(inputs: Sequence[object], most: int) -> Iterator[Sequence[Any]]:
    """Yield the pieces of a request, of at most `most` characters, or one input."""
    first = length = 0
    for number, one in enumerate(inputs):
        length += _length(one)
        if number > first and (number - first == SLICE or length > most):
            yield inputs[first:number]
            first, length = number, _length(one)
    if first < len(inputs):
        yield inputs[first:]


def service_of(request: Request) -> Service:
    """Return the service that answers a request."""
    return request.app.state.service


async def call_of(request: Request) -> Call:
    """Return a request with its parameters after its API key and rate are checked."""
    service = service_of(request)
    given = await read_parameters(request, VALUES * service.options.max_text)
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    key = given.values.get("api_key") or given.values.get("apiKey")
    key = key or (bearer.strip() if scheme.lower() == "bearer" else "")
    service.keys.check(str(key or ""))
    client = request.client.host if request.client else ""
    if service.options.socket:  # a proxy reports the address
        # the last address is the one that the proxy saw; a client can send any before it
        client = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    service.rate.count(str(key) if service.keys.required else client)
    check_fields(request.scope["route"].path, given.values)
    return Call(service, request, given)
