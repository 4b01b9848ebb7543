"""Long calls that a signal can interrupt."""

from __future__ import annotations

import signal
import threading
import time
from functools import partial

import pytest

from models.base.limits import at_once, interruptible


def test_the_result_or_the_error_of_the_call_is_passed_on() -> None:
    assert interruptible(lambda: 1 + 1) == 2
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


def test_functions_run_at_once_and_their_results_are_in_order() -> None:
    meeting = threading.Barrier(3, timeout=60)

    def work(number: int) -> int:
        meeting.wait()  # ends if all three run at once
        return number

    assert at_once([partial(work, number) for number in range(3)]) == [0, 1, 2]


def test_a_signal_ends_the_wait_before_the_call() -> None:
    def interrupt(*signal_and_frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    finished, start = threading.Event(), time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            interruptible(lambda: finished.wait(60))
    finally:
        finished.set()
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 30
