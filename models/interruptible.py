"""Long calls into C++ that a signal can interrupt.

Python handles a signal in the main thread, between two of its own instructions. A wait for another
thread ends when a signal arrives; a call into C++ does not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """Run a function in another thread, so that Ctrl-C works during a long call into C++."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    for error in errors:
        raise error
    return results[0]
