"""Long calls that a signal can interrupt."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from models.interruptible import interruptible


def test_the_result_or_the_error_of_the_call_is_passed_on() -> None:
    assert interruptible(lambda: 1 + 1) == 2
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


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
