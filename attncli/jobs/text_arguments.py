"""Texts given as arguments: a name of a file is refused, because -i reads files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from attncli.documents.registry import COMPRESSED, FORMATS
from models.base.errors import ModelError, NotFoundError

SUFFIXES = (".txt", *COMPRESSED, *(suffix for row in FORMATS.values() for suffix in row.suffixes))


def check_texts(texts: Sequence[str], command: str = "translate") -> None:
    """Raise ModelError if every text is the name of a file, or the only one looks like one.

    command: the one that reads the texts.
    """
    mistyped = len(texts) == 1 and re.fullmatch(r"[^\s:]{1,255}", texts[0])
    if mistyped and Path(texts[0]).suffix.lower() in SUFFIXES and not _is_file(texts[0]):
        raise NotFoundError(f"no file {texts[0]}", f"text to {command}, or a file with -i")
    if texts and all(map(_is_file, texts)):
        raise ModelError(
            f"{texts[0]}: the name of a file, where text is expected",
            f"text to {command}",
            f"read the file with -i {texts[0]}; pipe the name in to {command} the name itself",
        )


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False
