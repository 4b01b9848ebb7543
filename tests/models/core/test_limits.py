"""The document has every ceiling; a signal interrupts long calls."""

from __future__ import annotations

import re
import signal
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from models.core import limits
from models.core.limits import at_once, interruptible


def test_the_document_has_every_ceiling() -> None:
    document = Path("docs/limits.md").read_text("utf-8")
    rows = re.findall(r"^\|[^|]*\| ([\d,]+) [a-z]+ \|[^|]*\| `(\w+)` \|$", document, re.MULTILINE)
    constants = {name: value for name, value in vars(limits).items() if isinstance(value, int)}
    found = {name: int(number.replace(",", "")) for number, name in rows}
    assert found == {name: constants[name] for name in constants if name not in ("MIB", "GIB")}


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
