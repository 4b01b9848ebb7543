"""The prepared data of a run: a folder that is complete or absent, with digests of its files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from models.bundle.digests import check_digests, read_digests, write_digests
from models.files import write_folder


def prepare_folder(folder: Path, make: Callable[[Path], None]) -> None:
    """Let ``make`` fill a missing folder; compare the files of an existing one with their digests.

    Raises DamagedError for the first file that differs from its digest.
    """
    if folder.exists():
        check_folder(folder)
    else:
        write_folder(folder, lambda part: _make(make, part))


def check_folder(folder: Path) -> None:
    """Compare the files of prepared data with their digests, if they have any."""
    hint = "restore the file, or remove the run folder to start again"
    check_digests(folder, read_digests(folder), hint)


def _make(make: Callable[[Path], None], folder: Path) -> None:
    make(folder)
    write_digests(folder)
