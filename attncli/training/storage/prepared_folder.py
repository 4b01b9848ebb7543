"""The prepared data of a run: a folder that is complete or absent, with digests of its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from models.base.errors import ModelError
from models.base.files import write_folder
from models.base.parsing import parse_json
from models.storage.digests import check_digests, read_digests, write_digests


def prepare_folder(folder: Path, make: Callable[[Path], None]) -> None:
    """Let ``make`` fill a missing folder; compare the files of an existing one with their digests.

    Raises DamagedError for the first file that differs from its digest.
    """

    def fill(part: Path) -> None:
        make(part)
        write_digests(part)

    if folder.exists():
        check_folder(folder)
    else:
        write_folder(folder, fill)


def check_folder(folder: Path) -> None:
    """Compare the files of prepared data with their digests, if they have any."""
    hint = "restore the file, or remove the run folder to start again"
    check_digests(folder, read_digests(folder), hint)


@contextmanager
def reading(subject: str) -> Iterator[None]:
    """Report prepared data that cannot be read as a ModelError.

    subject: with its verb, such as "the tokenised corpus in runs/a/data is".
    """
    try:
        yield
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{subject} damaged ({error})",
            "files written by `attn train`",
            "remove the run folder to start again",
        ) from None


def read_made(folder: Path) -> Any:
    """Return the content of `made.json`: what was left out of the prepared data."""
    return parse_json((folder / "made.json").read_text("utf-8"))
