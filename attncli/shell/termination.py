"""SIGTERM and SIGHUP: a command ends as after Ctrl-C, and removes its temporary files.

The process then ends itself by the same signal, so that its parent sees the usual exit status. A
signal that is ignored (`nohup`) stays ignored. A training has its own handlers (`train_stop`).
"""

from __future__ import annotations

import signal
import time

SIGNALS = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP
GRACE = 1.0  # seconds in which further signals are ignored; `timeout` sends each signal twice


class Termination:
    """Signal that ends the program, once it has been received."""

    def __init__(self) -> None:
        self.number = 0  # of the signal; 0 before one is received
        self.received = 0.0  # by time.monotonic
        self._handled: list[int] = []

    def handle_signals(self) -> None:
        """Handle the signals that would end the process at once."""
        for name in SIGNALS:
            number = getattr(signal, name, signal.SIGTERM)
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, self.interrupt)
                self._handled.append(number)

    def interrupt(self, number: int, frame: object) -> None:
        """Interrupt the command as Ctrl-C does; end the process if the clean-up takes too long."""
        if not self.number:
            self.number, self.received = number, time.monotonic()
            raise KeyboardInterrupt
        if time.monotonic() - self.received > GRACE:
            self.end_process()

    def end_process(self) -> None:
        """End the process by the signal that was received.

        If there was none, return; the next one then ends the process at once.
        """
        for number in self._handled:
            signal.signal(number, signal.SIG_DFL)
        if self.number:
            signal.raise_signal(self.number)
