"""Texts given as arguments: a file's name given by mistake is refused with the right command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from attncli.documents.registry import COMPRESSED, FORMATS, format_of
from models.base.errors import ModelError, NotFoundError

SUFFIXES = (".txt", *COMPRESSED, *(suffix for row in FORMATS.values() for suffix in row.suffixes))


def check_texts(texts: Sequence[str], command: str = "translate") -> None:
    """Raise ModelError if every text is the name of a file, or one looks like a mistyped name.

    command: the one that reads the texts.
    """
    if len(texts) == 1 and _is_missing_file(texts[0]):
        raise NotFoundError(
            f"no file {texts[0]}",
            f"text to {command}, or a file with -i",
            f"pipe the name in to {command} the name itself",
        )
    if not texts or not all(map(_is_file, texts)):
        return
    name = texts[0]
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    is_table = command == "translate" and format_of(Path(name)) == "csv"
    column = " --column NAME" if is_table else ""
    raise ModelError(
        f"{name}{more}: the name of a file, where text is expected",
        f"text to {command}",
        f"read the file with -i {name}{column}; pipe the name in to {command} the name itself",
    )


def _is_missing_file(text: str) -> bool:
    """Return True for a word with the suffix of a file that does not exist."""
    named = re.fullmatch(r"[^\s:]{1,255}", text) and Path(text).suffix.lower() in SUFFIXES
    return bool(named) and not _is_file(text)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False
