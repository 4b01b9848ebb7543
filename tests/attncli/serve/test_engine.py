"""The engine of a model: batches, order, priorities, faults, limits, release."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("starlette")

from attncli.serve import _queue as engine_module
from attncli.serve._queue import BATCH_COST, ModelThread
from attncli.serve._requests import RequestError
from models.core.errors import InputError
from models.core.limits import GIVE_TURN


class Recorder:
    """A model that waits at a gate and records its batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = threading.Event()


@dataclass(frozen=True)
class Echo:
    """A job that returns its inputs."""

    name: str = ""

    def run(self, served: Any, inputs: Sequence[str]) -> list[str]:
        served.batches.append(list(inputs))
        if not served.gate.wait(10):
            raise TimeoutError
        if "bad" in inputs:
            raise InputError("a bad input")
        if "bug" in inputs:
            raise ZeroDivisionError
        return [f"{self.name}{one}" for one in inputs]


@dataclass(frozen=True)
class Long:
    """A job of several batches."""

    first: Callable[[], object] = list

    def run(self, served: Any, inputs: Sequence[str]) -> list[str]:
        self.first()
        GIVE_TURN.get()()
        return list(inputs)


@dataclass(frozen=True)
class Endless:
    """A job that ends only if nobody waits for it."""

    def run(self, served: Any, inputs: Sequence[str]) -> list[str]:
        while True:
            GIVE_TURN.get()()
            time.sleep(0.001)


@pytest.fixture
def model() -> Recorder:
    return Recorder()


@pytest.fixture
def engine(model: Recorder) -> Iterator[Any]:
    engine = ModelThread(lambda: model, most=6, idle=60)  # type: ignore[arg-type,return-value]
    yield engine
    model.gate.set()
    engine.close()


def begin(engine: Any, model: Recorder) -> Any:
    """Submit work and wait until its batch runs, so that all further work waits."""
    first = engine.submit(Echo(), ["first"])
    while not model.batches:
        time.sleep(0.001)
    return first


def test_work_that_arrives_during_a_batch_forms_the_next(engine: Any, model: Recorder) -> None:
    begin(engine, model)
    found = [engine.submit(Echo(), [f"{n}", "x"]) for n in range(3)]
    model.gate.set()
    assert [future.result(10) for future in found] == [["0", "x"], ["1", "x"], ["2", "x"]]
    assert model.batches[1:] == [["0", "x", "1", "x", "2", "x"]]


def test_other_jobs_wait_and_keep_their_order(engine: Any, model: Recorder) -> None:
    begin(engine, model)
    jobs = [Echo("a"), Echo("b"), Echo("a"), Echo("c"), Echo("b")]
    found = [engine.submit(job, [str(n)]) for n, job in enumerate(jobs)]
    model.gate.set()
    assert [future.result(10) for future in found] == [["a0"], ["b1"], ["a2"], ["c3"], ["b4"]]
    assert model.batches[1:] == [["0", "2"], ["1", "4"], ["3"]]


@pytest.mark.parametrize("seed", range(10))
def test_batches_of_drawn_requests_are_bounded_and_of_one_kind(
    engine: Any, model: Recorder, seed: int
) -> None:
    draw = random.Random(seed)
    begin(engine, model)
    engine._most = 100
    costs = [draw.choice([10, 500, BATCH_COST, 2 * BATCH_COST, 90_000]) for _ in range(40)]
    found = [
        engine.submit(Echo(), [f"{cost}"] * draw.randint(1, 30), cost=cost, request=cost)
        for cost in costs
    ]
    model.gate.set()
    assert [future.result(10)[0] for future in found] == [f"{cost}" for cost in costs]
    for batch in model.batches[1:]:
        works = [int(cost) for cost in batch]
        assert len(batch) <= engine_module.BATCH
        assert max(works) <= BATCH_COST or len({*works}) == 1
    order = [int(batch[0]) > BATCH_COST for batch in model.batches[1:]]
    assert order == sorted(order)  # short requests first


def test_a_request_that_has_waited_for_its_patience_comes_first(
    engine: Any, model: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(engine, model)
    bulk = engine.submit(Echo("bulk"), ["b"], request=2 * BATCH_COST)
    engine.submit(Echo("urgent"), ["u"])
    model.gate.set()
    bulk.result(10)
    assert model.batches[1:] == [["u"], ["b"]]
    model.gate.clear()
    monkeypatch.setattr(engine_module, "PATIENCE", 0.0)
    engine.submit(Echo(), ["first"])
    while len(model.batches) < 4:
        time.sleep(0.001)
    engine.submit(Echo("bulk"), ["b"], request=2 * BATCH_COST)
    last = engine.submit(Echo("urgent"), ["u"])
    model.gate.set()
    last.result(10)
    assert model.batches[4:] == [["b"], ["u"]]


def test_the_end_fails_bulk_work_at_once_and_finishes_urgent_work(engine: Any, model: Any) -> None:
    model.gate.set()
    endless = engine.submit(Endless(), ["endless"], request=2 * BATCH_COST)
    waits = engine.submit(Echo(), ["bulk"], request=2 * BATCH_COST)
    time.sleep(0.05)
    urgent = engine.submit(Echo(), ["a"])
    engine.end()
    for large in (endless, waits):
        with pytest.raises(RequestError, match="ends"):
            large.result(1)
    assert urgent.result(1) == ["a"]
    with pytest.raises(RequestError, match="ends"):
        engine.submit(Echo(), ["bulk"], request=2 * BATCH_COST)


def test_a_bad_input_fails_alone_and_a_bug_ends_no_thread(engine: Any, model: Recorder) -> None:
    begin(engine, model)
    found = [engine.submit(Echo(), [text]) for text in ("a", "bad", "b")]
    model.gate.set()
    assert found[0].result(10) == ["a"] and found[2].result(10) == ["b"]
    with pytest.raises(RequestError, match="a bad input") as error:
        found[1].result(10)
    assert error.value.status == 400
    model.gate.clear()
    engine.submit(Echo(), ["second"])
    others = [engine.submit(Echo(), [text]) for text in ("c", "bug", "d")]
    model.gate.set()
    assert others[0].result(10) == ["c"] and others[2].result(10) == ["d"]
    with pytest.raises(ZeroDivisionError):
        others[1].result(10)
    assert engine.submit(Echo(), ["a"]).result(10) == ["a"]


def test_urgent_work_is_computed_between_the_steps_of_long_work(
    engine: Any, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "TURN", 0.0)
    begin(engine, model)
    later = []
    job = Long(lambda: later.append(engine.submit(Echo(), ["x"])))
    again = engine.submit(job, ["long"], request=2 * BATCH_COST)
    model.gate.set()
    assert again.result(10) == ["long"] and later[0].done()


def test_work_that_nobody_waits_for_is_dropped(engine: Any, model: Recorder) -> None:
    begin(engine, model)
    gone, stays = (engine.submit(Echo(), [text]) for text in ("gone", "stays"))
    assert gone.cancel()
    model.gate.set()
    assert stays.result(10) == ["stays"]
    assert model.batches[1:] == [["stays"]]


def test_work_ends_while_it_is_computed_if_nobody_waits_for_it(engine: Any, model: Any) -> None:
    model.gate.set()
    endless = engine.submit(Endless(), ["endless"], request=2 * BATCH_COST)
    assert engine.submit(Echo(), ["a"]).result(10) == ["a"]
    assert endless.cancel()
    assert engine.submit(Echo(), ["b"], request=2 * BATCH_COST).result(10) == ["b"]


def test_too_much_waiting_work_is_refused(engine: Any, model: Recorder) -> None:
    begin(engine, model)
    waiting = [engine.submit(Echo(), ["a"]) for _ in range(6)]
    with pytest.raises(RequestError, match="busy") as error:
        engine.submit(Echo(), ["b"])
    assert error.value.status == 503 and error.value.retry_after
    model.gate.set()
    assert [future.result(10) for future in waiting] == [["a"]] * 6


def test_close_finishes_what_waits(engine: Any, model: Recorder) -> None:
    begin(engine, model)
    waiting = engine.submit(Echo(), ["a"])
    model.gate.set()
    engine.close()
    assert waiting.result(0) == ["a"]
    with pytest.raises(RequestError):
        engine.submit(Echo(), ["b"])


def test_an_idle_model_is_released_and_opened_again(model: Recorder) -> None:
    opened = []
    model.gate.set()

    def open_model() -> Any:
        opened.append(1)
        return model

    engine: Any = ModelThread(open_model, most=6, idle=0.05)
    for _ in range(2):
        engine.submit(Echo(), ["a"]).result(10)
        assert engine.is_open
        until = time.monotonic() + 10
        while engine.is_open and time.monotonic() < until:
            time.sleep(0.01)
        assert not engine.is_open
    engine.close()
    assert len(opened) == 2
