"""Choice of the checkpoint that a run continues from: the last one, or the previous one.

Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from attncli.training.storage.folder import RunFolder
from models.base.errors import DamagedError

Result = TypeVar("Result")


def first_intact(folder: RunFolder, read: Callable[[Path], Result]) -> tuple[Result | None, str]:
    """Return the result of reading the last intact checkpoint, and a warning.

    The result is None if there is no checkpoint. The warning is "" unless the last checkpoint is
    missing or damaged and the previous one is used. Raises DamagedError if none is intact.
    """
    if not (folder.checkpoint.exists() or folder.previous.exists()):
        return None, ""
    try:
        return read(folder.checkpoint), ""
    except DamagedError as error:
        try:
            found = read(folder.previous)
        except DamagedError:
            raise DamagedError(
                error.found,
                "a file written by this version of `attn train`",
                f"remove {folder.path}/checkpoint*.safetensors to start this run again",
            ) from None
        return found, f"{error.found}; continuing from {folder.previous.name}"
