"""Lock of a folder, so that one process trains or works in it; it ends with that process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from models.base.errors import ModelError
from models.base.files import open_append, try_lock, write_errors

NAME = ".lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder inside a `with` block; create the folder if it is missing.

    Raise a ModelError if another process has locked it. The kernel releases the lock of a killed
    process, so no lock is ever stale.
    """
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = open_append(folder / NAME)
    with file:
        if not try_lock(file.fileno()):
            raise ModelError(
                f"another process works in {folder}",
                "a folder that no other process uses",
                "wait for that process, stop it, or choose another folder",
            )
        yield
