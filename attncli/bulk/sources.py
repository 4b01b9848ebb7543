"""Inputs of a bulk job, and the outputs that mirror them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from attncli.documents.registry import is_document, uncompressed
from models.base.errors import InputError, NotFoundError


class BulkSource(NamedTuple):
    """An input with its output."""

    paths: tuple[Path, ...]  # one file, or all names of images
    out: Path

    @property
    def name(self) -> str:
        """Name of the input in messages and rows of errors."""
        return ", ".join(map(str, self.paths))


def text_sources(inputs: Sequence[Path], out: Path) -> list[BulkSource]:
    """Return the text files of the inputs, each with its own output.

    One file is written to OUT. Folders and several files are mirrored in the folder OUT: a file
    keeps its path below the given folder, without the suffix of its compression. Hidden files are
    left out. Raises ModelError if an input is missing or two files have the same output.
    """
    for path in inputs:
        if not path.exists():
            raise NotFoundError(f"no file or folder {path}", "texts to process")
    if len(inputs) == 1 and inputs[0].is_file() and not out.is_dir():
        return [BulkSource((inputs[0],), out)]
    several = len(inputs) > 1
    sources = [
        BulkSource((path,), out / uncompressed(place))
        for given in inputs
        for path, place in _files(given, several)
        if out.resolve() not in path.resolve().parents
    ]
    _check(sources, inputs)
    return sources


def refuse_documents(sources: Sequence[BulkSource], command: str) -> None:
    """Raise InputError for the first document, also for one that `command` cannot read."""
    for [path], out in sources:
        if is_document(path):
            raise InputError(
                f"{path} is a document, and attn bulk reads lines",
                "text, or JSON lines with --field",
                f"for documents: {command} {path} -o {out}",
            )


def image_source(inputs: Sequence[Path], out: Path) -> list[BulkSource]:
    """Return all images as one input, whose output is one file."""
    if out.is_dir():
        raise InputError(f"{out} is a folder", "a file for the captions of all images")
    return [BulkSource(tuple(inputs), out)]


def _files(given: Path, several: bool) -> Iterator[tuple[Path, Path]]:
    """Yield the files of an input, each with its path below OUT."""
    if given.is_file():
        yield given, Path(given.name)
        return
    top = Path(given.resolve().name) if several else Path()
    for folder, folders, names in os.walk(given):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            path = Path(folder, name)
            yield path, top / path.relative_to(given)


def _check(sources: Sequence[BulkSource], inputs: Sequence[Path]) -> None:
    if not sources:
        raise NotFoundError(f"no files in {', '.join(map(str, inputs))}", "files to process")
    seen: dict[Path, BulkSource] = {}
    for source in sources:
        other = seen.setdefault(source.out, source)
        if other is not source:
            raise InputError(
                f"{other.name} and {source.name} have the same output {source.out}",
                "files of different names",
                "process them with two commands",
            )
