"""Pictures named on a command line: files, folders, patterns, a list of paths, bytes.

They come in groups that may be worked on together; a list on a pipe is answered as it comes. What
is no picture's file stays in its place, with what is wrong with it.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from attncli.data.lines import read_chunks
from attncli.data.pictures import Place
from models.errors import ModelError
from models.limits import PICTURE_BYTES

SUFFIXES = (".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
STDIN = "-"
WILD = "*?["
GROUP = 256  # pictures of one group


class PictureFile(NamedTuple):
    """A requested picture."""

    name: str  # as the user gave it, or as a folder has it
    source: Path | bytes | Place = b""
    fault: str = ""  # why the picture cannot be opened; empty if it may

    def content(self) -> Path | bytes:
        """Return the picture's path or its bytes; a ModelError if they cannot be read."""
        return self.source.read() if isinstance(self.source, Place) else self.source

    @property
    def path(self) -> Path | None:
        """The file, where the picture has one of its own."""
        return self.source if isinstance(self.source, Path) else None


def is_alone(arguments: Sequence[str]) -> bool:
    """Return True if the arguments name exactly one picture, not a folder or a pattern."""
    if len(arguments) != 1:
        return False
    [argument] = arguments
    return not os.path.isdir(argument) and (os.path.exists(argument) or not _is_wild(argument))


def named_pictures(
    arguments: Sequence[str], *, recursive: bool = False
) -> Iterator[list[PictureFile]]:
    """Yield the pictures of the arguments in order; pictures of a folder are sorted by name."""
    group: list[PictureFile] = []
    for argument in arguments:
        for file in _expanded(argument, recursive):
            group.append(file)
            if len(group) == GROUP:
                yield group
                group = []
    if group:
        yield group


def count_pictures(arguments: Sequence[str], *, recursive: bool = False) -> int:
    """Return the number of pictures that the arguments name. Standard input is not read."""
    ahead = [argument for argument in arguments if argument != STDIN]
    found = sum(map(len, named_pictures(ahead, recursive=recursive)))
    return found + len(arguments) - len(ahead)


def listed_pictures(stream: BinaryIO) -> Iterator[list[PictureFile]]:
    """Yield the pictures whose paths are the lines of a stream; empty lines are skipped."""
    for chunk in read_chunks(stream):
        files = []
        for line in chunk:
            if line.fault and line.number == 1:
                raise ModelError(
                    f"standard input is {line.fault}: no list of paths",
                    "a path on each line",
                    "for a picture's own bytes say `attn caption -`",
                )
            if line.fault:
                files.append(PictureFile(line.text, fault=f"line {line.number} is {line.fault}"))
            elif not line.text.strip():
                files.append(PictureFile("", fault=f"line {line.number} names no picture"))
            else:
                files.append(_file(line.text))
        yield files


def _expanded(argument: str, recursive: bool) -> Iterator[PictureFile]:
    if argument == STDIN:
        content = sys.stdin.buffer.read(PICTURE_BYTES + 1)
        fault = f"standard input has more than {PICTURE_BYTES:,} bytes"
        yield PictureFile(STDIN, content, fault if len(content) > PICTURE_BYTES else "")
    elif os.path.isdir(argument):
        yield from _folder(argument) if recursive else [_file(argument)]
    elif _is_wild(argument) and not os.path.exists(argument):
        yield from _matching(argument)
    else:
        yield _file(argument)


def _file(name: str) -> PictureFile:
    if os.path.isdir(name):
        return PictureFile(name, fault=f"{name} is a folder; -r captions the pictures in it")
    return PictureFile(name, Path(name))


def _folder(folder: str) -> Iterator[PictureFile]:
    """Return the pictures (by suffix) in a folder and its subfolders, except hidden files."""
    count = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                count += 1
                yield _file(os.path.join(place, name))
    if not count:
        yield PictureFile(folder, fault=f"{folder} has no file named like a picture")


def _matching(pattern: str) -> Iterator[PictureFile]:
    """Return the files that match a pattern that the shell did not expand; ** enters folders."""
    found = sorted(name for name in _globbed(pattern) if not os.path.isdir(name))
    yield from map(_file, found)
    if not found:
        yield PictureFile(pattern, fault=f"no file matches {pattern}")


def _globbed(pattern: str) -> Iterator[str]:
    """Match a pattern. ** follows no links to folders: links in a circle have endless paths."""
    parts = pattern.split("/")
    if "**" not in parts:
        yield from glob.iglob(pattern)
        return
    at = parts.index("**")
    start, deep = "/".join(parts[:at]), "/".join(parts[at:])
    deep = f"{deep}/*" if deep.endswith("**") else deep
    for folder in glob.glob(f"{start}/") if at else [""]:
        for path in Path(folder).glob(deep):
            name = os.path.relpath(path, folder or ".")
            if not any(part.startswith(".") for part in name.split(os.sep)):
                yield os.path.join(folder, name)


def _is_wild(argument: str) -> bool:
    return any(letter in argument for letter in WILD)
