"""Ceilings: how much one input may make the program read, allocate or compute; and this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TypeVar

MIB, GIB = 1 << 20, 1 << 30

# docs/limits.md says what each bounds, and what happens beyond it
LINE_BYTES = 16 * MIB
LINE_TAGS = 10_000
SPLIT_MARKS = 64
FILE_BYTES = 1 * GIB
WINDOW_BYTES = 128 * MIB
SENTENCES = 10_000_000
OUTPUT_TOKENS = 4096
# terms of 40,000 tokens in one sentence took 60 s and 512 MB
TERM_TOKENS = 512
DIGITS = 9
IMAGE_PIXELS = 100_000_000
IMAGE_SIDE = 65_535
IMAGE_BYTES = 512 * MIB
ARCHIVE_MEMBERS = 10_000_000
MODEL_FILE_BYTES = 64 * MIB
HTML_UNENDED = 1000
HTML_TAGS = 1_000_000
UNPACKED_BYTES = 256 * MIB
PACKED_TAGS = 4_000_000
AUDIO_SECONDS = 24 * 3600
AUDIO_STREAM_BYTES = 4 * GIB


T = TypeVar("T")
# called at each step of a search; a service then computes work of others, or ends this work
GIVE_TURN: ContextVar[Callable[[], None]] = ContextVar("GIVE_TURN", default=lambda: None)


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        # cpu_count() counts all processors, also those that a container or taskset does not give
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def interruptible(work: Callable[[], T]) -> T:
    """Run a function in another thread, so that Ctrl-C works during a long call into C++.

    Python handles a signal in the main thread, between two of its own instructions. A wait for
    another thread ends when a signal arrives; a call into C++ does not.
    """
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
    # daemons, so that Ctrl-C ends the program while C++ still computes
    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in sorted(errors):
        raise errors[number]
    return [results[number] for number in numbers]
