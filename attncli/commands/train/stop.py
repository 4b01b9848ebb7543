"""Ctrl-C and SIGTERM during a training: a request to save and stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from attncli.terminal import console


class Stop:
    """Request of a signal to stop the run, with the exit status."""

    def __init__(self) -> None:
        self.status = 0
        self.is_polled = False  # True once a run can be saved; until then it ends at once
        self.said = False

    def __call__(self) -> bool:
        """Return True once a signal was received."""
        self.is_polled = True
        if self.status and not self.said:
            self.said = True
            console.say("saving before stopping; press again to stop at once")
        return self.status != 0

    def ask(self, number: int, frame: object) -> None:
        """Handle a signal; end the program at once if it is the second or nothing needs saving."""
        again, self.status = self.status != 0, 128 + number
        if again or not self.is_polled:
            raise KeyboardInterrupt


@contextmanager
def stopping() -> Iterator[Stop]:
    """Turn Ctrl-C and SIGTERM into a request to save and stop."""
    stop = Stop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, stop.ask) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
