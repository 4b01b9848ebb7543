"""Index of images in a folder with subfolders, or in a TAR file, which is not unpacked.

Either is an index from names to places in files; an image's bytes are read when they are asked
for. Captions often name images without their folders, so a name is also searched without folders.
macOS writes accents of names as separate characters (Unicode NFD), so both forms are searched.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from models.base.errors import ModelError
from models.base.files import open_regular
from models.base.limits import ARCHIVE_MEMBERS, IMAGE_BYTES
from models.text.normalise import nfc


class FileRange(NamedTuple):
    """Position of an image's bytes in a file."""

    file: Path
    offset: int = 0
    size: int = -1  # -1: to the end of the file

    def read(self) -> bytes:
        """Return the bytes; a ModelError if they cannot be read."""
        if self.size > IMAGE_BYTES:
            raise ModelError(
                f"an image in {self.file} has {self.size:,} bytes", f"at most {IMAGE_BYTES:,}"
            )
        try:
            most = IMAGE_BYTES if self.size < 0 else sys.maxsize
            with open_regular(self.file, most) as file:
                file.seek(self.offset)
                return file.read(self.size)
        except OSError as error:
            raise ModelError(f"cannot read {self.file}: {error.strerror}") from None


@dataclass(frozen=True)
class ImageIndex:
    """The files of a folder or TAR file by their names in it, with / between folders."""

    path: Path
    places: dict[str, FileRange]
    alone: dict[str, list[str]] = field(repr=False)  # names without folders, NFC: the whole ones

    def find(self, name: str) -> FileRange | None:
        """Return the place of an image, by its whole name or the last part of it; None if missing.

        Accents may be composed or decomposed. Two files of one name in several folders are a
        ModelError, unless the folder is named too.
        """
        whole = _plain(name)
        if whole in self.places:
            return self.places[whole]
        candidates = self.alone.get(last_part(whole), [])
        nearer = [n for n in candidates if _one_ends_with_the_other(n, whole)] or candidates
        if len(nearer) > 1:
            raise ModelError(
                f"{self.path} has several files {name}: {nearer[0]} and {nearer[1]}",
                "one of that name",
                "name the folder in the captions' file too",
            )
        return self.places[nearer[0]] if nearer else None

    def __len__(self) -> int:
        return len(self.places)


def open_images(path: Path | str) -> ImageIndex:
    """Return the index of a folder or a TAR file; a ModelError if it is neither."""
    path = Path(path)
    files = _folder(path) if path.is_dir() else _archive(path)
    places = dict(itertools.islice(files, ARCHIVE_MEMBERS + 1))
    if len(places) > ARCHIVE_MEMBERS:
        raise ModelError(f"{path} has more than {ARCHIVE_MEMBERS:,} files", "fewer of them")
    alone: dict[str, list[str]] = {}
    for name in places:
        alone.setdefault(last_part(name), []).append(name)
    if not places:
        raise ModelError(f"{path} holds no file", "images")
    return ImageIndex(path, places, alone)


def content_hash(content: bytes) -> str:
    """Return the key of an image: the SHA-256 digest of its bytes."""
    return hashlib.sha256(content).hexdigest()


def _folder(path: Path) -> Iterator[tuple[str, FileRange]]:
    for folder, folders, files in os.walk(path, followlinks=False):
        folders.sort()
        for name in sorted(files):
            file = Path(folder, name)
            yield file.relative_to(path).as_posix(), FileRange(file)


def _archive(path: Path) -> Iterator[tuple[str, FileRange]]:
    expected = "a folder, or a TAR file that is not compressed"
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                if member.isreg() and not member.issparse():
                    yield _plain(member.name), FileRange(path, member.offset_data, member.size)
    except (OSError, tarfile.TarError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"{path} cannot be read as images ({reason})", expected) from None


def _plain(name: str) -> str:
    """Return a name as in the index: without a leading ./ and with / between folders."""
    name = name.replace("\\", "/")
    while name.startswith("./"):
        name = name[2:]
    return name


def last_part(name: str) -> str:
    """Return a name without its folders, with composed accents."""
    return nfc(name.replace("\\", "/").rpartition("/")[2])


def _one_ends_with_the_other(one: str, other: str) -> bool:
    short, long = sorted((f"/{nfc(one)}", f"/{nfc(other)}"), key=len)
    return long.endswith(short)
