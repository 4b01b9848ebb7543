"""Texts given as arguments: a file's name given by mistake is refused with the right command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attncli.documents.registry import format_of
from models.errors import ModelError


def check_texts(texts: Sequence[str], command: str = "translate") -> None:
    """Raise ModelError if every text is the name of a file. command: the one that reads them."""
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


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False
