"""Training data that the program generates itself: a grammar of sentence pairs, drawn scenes."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from typing import Any, NamedTuple


class Splits(NamedTuple):
    """Examples for training, and two held-out sets without training examples."""

    train: list[Any]
    dev: list[Any]
    test: list[Any]


def as_table(rows: Iterable[Iterable[str]]) -> bytes:
    """Return rows of cells as the content of a TSV file."""
    return "".join("\t".join(row) + "\n" for row in rows).encode()


def as_tar(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the content of a TAR file of some files, given by name and content."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()
