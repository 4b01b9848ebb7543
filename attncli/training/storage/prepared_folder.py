"""The prepared data of a run: a folder that is complete or absent, with digests of its files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from models.base.errors import ModelError
from models.base.files import write_folder
from models.storage.digests import check_digests, read_digests, write_digests


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


def damaged(error: Exception, subject: str) -> ModelError:
    """Return the error for prepared data that cannot be read.

    subject: with its verb, such as "the tokenised corpus in runs/a/data is".
    """
    return ModelError(
        f"{subject} damaged ({error})",
        "files written by `attn train`",
        "remove the run folder to start again",
    )
