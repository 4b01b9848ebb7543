"""Long calls into C++, one or several at once, that a signal can interrupt.

Python handles a signal in the main thread, between two of its own instructions. A wait for another
thread ends when a signal arrives; a call into C++ does not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """Run a function in another thread, so that Ctrl-C works during a long call into C++."""
    return at_once([work])[0]


def at_once(works: Sequence[Callable[[], T]]) -> list[T]:
    """Run functions at once, each in its own thread, and return their results in order.

    Raises the first error, in the order of the functions, after all of them have ended. A signal
    ends the wait earlier; the threads do not keep the program alive.
    """
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    def run(number: int) -> None:
        try:
            results[number] = works[number]()
        except BaseException as error:
            errors[number] = error

    numbers = range(len(works))
    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in sorted(errors):
        raise errors[number]
    return [results[number] for number in numbers]
