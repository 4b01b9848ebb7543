"""Removal of what a refused start has written, so that it leaves no run folder."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from attncli.training.storage.folder import RunFolder
from attncli.training.storage.lock import NAME as LOCK
from models.base.errors import ModelError


@contextlib.contextmanager
def removed_if_refused(folder: RunFolder, *, existed: bool) -> Iterator[None]:
    """Empty a run folder if a ModelError ends the `with` block and the folder was empty before.

    The folder itself is removed unless it existed before its lock was made. Prepared data are kept.
    """
    was_empty = all(path.name == LOCK for path in folder.path.iterdir())
    try:
        yield
    except ModelError:
        if was_empty and not folder.data.exists():
            with contextlib.suppress(OSError):
                remove(folder.path, keep=existed)
        raise


def remove(path: Path, *, keep: bool) -> None:
    """Remove a folder, or only what it contains."""
    if not keep:
        shutil.rmtree(path)
        return
    for part in path.iterdir():
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()
