"""Writing files so that a crash leaves the old one or the new one, never half of either."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from models.errors import ModelError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, flush it to the disk, and rename it."""
    temporary = path.with_name(f".{path.name}.part")
    with refused(path):
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_text(path: Path, content: str) -> None:
    """Write a text file whole or not at all."""
    write_bytes(path, content.encode("utf-8"))


def write_folder(path: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder under a temporary name, then put it in place of the old one."""
    temporary = path.with_name(f".{path.name}.part")
    with refused(path):
        shutil.rmtree(temporary, ignore_errors=True)
        try:
            temporary.mkdir(parents=True)
            fill(temporary)
            _exchange(temporary, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def _exchange(new: Path, path: Path) -> None:
    if not path.exists():
        os.replace(new, path)
        return
    old = path.with_name(f".{path.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    os.replace(path, old)
    try:
        os.replace(new, path)
    except BaseException:
        os.replace(old, path)
        raise
    shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def refused(path: Path) -> Iterator[None]:
    """Turn a full disk or an unwritable folder into one line."""
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"cannot write {path}: {error.strerror or error}",
            "a folder that can be written, with room",
            "what was written before is whole",
        ) from None


def taken(descriptor: int) -> bool:
    """Lock an open file for this process; False if another holds it.

    The kernel drops the lock of a process that was killed. Where there are no locks, it is taken.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
