"""One run folder, one process: a lock that ends with the process that holds it, however it ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from models.errors import ModelError
from models.files import open_append, try_lock, write_errors

NAME = ".lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be; a ModelError if another process holds it.

    The kernel drops the lock of a process that was killed, so none is ever stale. The number in the
    file is only for the message.
    """
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = open_append(folder / NAME)
    with file:
        if not try_lock(file.fileno()):
            file.seek(0)
            process = file.read(20).decode("ascii", "replace").strip()
            raise ModelError(
                f"another `attn train` is at work in {folder} (process {process})",
                "one at a time",
                "wait for it, stop it, or choose another -o",
            )
        with write_errors(folder):
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), f"{os.getpid()}\n".encode())
        yield
