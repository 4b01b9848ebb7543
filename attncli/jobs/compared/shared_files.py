"""Files that all runs of a comparison share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from attncli.data.text import corpus
from models.base.errors import ModelError
from models.base.files import write_errors, write_text


def write_tables(folder: Path, tables: Mapping[str, str]) -> list[Path]:
    """Write tables, given as name: content, as NAME.tsv; return their absolute paths."""
    paths = [(folder / f"{name}.tsv").absolute() for name in tables]
    for path, text in zip(paths, tables.values(), strict=True):
        write_same(path, text)
    return paths


def write_same(path: Path, text: str) -> None:
    """Write a file; raise a ModelError if it exists with other content."""
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_text(path, text)
    elif path.read_text("utf-8") != text:
        raise ModelError(
            f"{path} contains data of other settings", "the same settings", "choose another -o"
        )


def mark_of(groups: Iterable[Iterable[Path | str]], more: str = "") -> str:
    """Return a hash of the content of groups of files, and of a text; see `Sets.mark`."""
    named = [list(paths) for paths in groups]
    hashes = [corpus.fingerprint(paths) for paths in named if paths]
    return hashlib.sha256(f"{hashes}{more}".encode()).hexdigest()
