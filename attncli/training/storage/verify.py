"""Check of a run folder for damage: checkpoints, snapshots and prepared data."""

from __future__ import annotations

from pathlib import Path

from attncli.training.storage.folder import RunFolder
from attncli.training.storage.prepared_folder import check_folder
from attncli.training.storage.tensor_file import read_tensors


def verify_run(path: Path) -> None:
    """Compare the files that a continued run needs with their digests, where there are any.

    Raises DamagedError for the first file that differs.
    """
    folder = RunFolder(path)
    if folder.data.is_dir():
        check_folder(folder.data)
    for file in (folder.checkpoint, folder.previous, *sorted(folder.snapshots.glob("*"))):
        if file.exists():
            read_tensors(file)
