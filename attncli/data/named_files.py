"""Files by name, such as images and recordings: alone, in folders, in archives."""

from __future__ import annotations

import glob
import hashlib
import os
import sys
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from attncli.data.lines import read_chunks
from models.core.errors import InputError, ModelError, NotFoundError
from models.core.files import open_regular
from models.core.limits import ARCHIVE_MEMBERS, IMAGE_BYTES
from models.text.normalise import nfc

TAR = ".tar"
SUFFIXES = (
    *(".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"),
    *(".heic", ".heif", ".avif"),
)
STDIN = "-"
GROUP = 256  # images of one group
SOUND = ".wav .flac .ogg .oga .opus .mp3 .aiff .aif .au .m4a .mp4 .mov .mkv .webm .aac .ac3 .wma"


class FileRange(NamedTuple):
    """Position of the bytes of an image or a recording in a file."""

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
    """The files of a folder or TAR file, which is not unpacked, by their names in it.

    Captions often name images without their folders, so a name is also searched without them.
    macOS writes accents of names as separate characters (Unicode NFD), so both forms are searched.
    """

    path: Path
    places: dict[str, FileRange]
    alone: dict[str, list[str]] = field(repr=False)  # names without folders, NFC: the whole ones

    def find(self, name: str) -> FileRange | None:
        """Return the place of an image, by its whole name or the last part of it; None if missing.

        Two files of one name in several folders are a ModelError, unless the folder is named too.
        """
        whole = _plain(name)
        if whole in self.places:
            return self.places[whole]
        candidates, path = self.alone.get(last_part(whole), []), f"/{nfc(whole)}"
        paths = [f"/{nfc(candidate)}" for candidate in candidates]
        nearer = [
            candidate
            for candidate, other in zip(candidates, paths, strict=True)
            if other.endswith(path) or path.endswith(other)
        ] or candidates
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
    files = _folder_index(path) if path.is_dir() else _archive_index(path)
    places = dict(islice(files, ARCHIVE_MEMBERS + 1))
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


def _folder_index(path: Path) -> Iterator[tuple[str, FileRange]]:
    for folder, folders, files in os.walk(path, followlinks=False):
        # file systems list names in different orders
        folders.sort()
        for name in sorted(files):
            file = Path(folder, name)
            if file.is_file():  # no pipe, which would be waited for
                yield file.relative_to(path).as_posix(), FileRange(file)


def _archive_index(path: Path) -> Iterator[tuple[str, FileRange]]:
    expected = "a folder, or a TAR file that is not compressed"
    try:
        # not compressed, because images are read at their offsets in the file
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


class FileKind(NamedTuple):
    """Files that are found in folders and archives by the ends of their names."""

    noun: str
    suffixes: tuple[str, ...]

    def named(self, number: int, content: str | bytes) -> NamedFile:
        """Return a file by its path, or by its bytes and their number."""
        if isinstance(content, bytes):
            return NamedFile(f"{self.noun.split()[-1]} {number}", content)
        return NamedFile(content, Path(content))


IMAGES = FileKind("an image", SUFFIXES)
RECORDINGS = FileKind("a recording", tuple(SOUND.split(" ")))


class NamedFile(NamedTuple):
    """A requested image or recording."""

    name: str  # as the user gave it, or as a folder has it
    source: Path | bytes | FileRange = b""
    fault: str = ""  # why it cannot be opened; empty if it may
    opened: Any = None  # an image, its features (S, V) or a sound, of a program

    def __repr__(self) -> str:
        """Return the name, and the kind of what is in memory, which can be large."""
        held = self.source if self.path or not self.source else type(self.source).__name__
        given = "" if self.opened is None else f", opened={type(self.opened).__name__}"
        return f"NamedFile({self.name!r}, {held!r}, {self.fault!r}{given})"

    def __deepcopy__(self, memo: object) -> NamedFile:
        """Return this file: a stream that a program gave cannot be copied."""
        return self

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Return the parts for pickle, without a stream."""
        opened = None if hasattr(self.opened, "read") else self.opened
        return NamedFile, (self.name, self.source, self.fault, opened)

    def content(self) -> Path | bytes:
        """Return the file's path or its bytes; a ModelError if they cannot be read."""
        return self.source.read() if isinstance(self.source, FileRange) else self.source

    @property
    def path(self) -> Path | None:
        """Its own file; None for bytes and for a member of an archive."""
        return self.source if isinstance(self.source, Path) else None


def find_images(names: Iterable[str], images: ImageIndex, where: str) -> list[NamedFile]:
    """Return the named images of a test set. Raises ModelError if one is missing."""
    places = {name: images.find(name) for name in names}
    if missing := [name for name, place in places.items() if place is None]:
        raise ModelError(
            f"{len(missing):,} of {len(places):,} images of {where} are not in "
            f"{images.path}, {missing[0]} first",
            "each of them",
        )
    return [NamedFile(name, place) for name, place in places.items() if place]


def is_alone(arguments: Sequence[str]) -> bool:
    """Return True if the arguments name exactly one image, not a folder, TAR file or pattern."""
    if len(arguments) != 1:
        return False
    [argument] = arguments
    return not (os.path.isdir(argument) or is_archive(argument)) and (
        os.path.exists(argument) or not glob.has_magic(argument)
    )


def check_image(arguments: Sequence[str], *, recursive: bool) -> None:
    """Raise a ModelError for a single image that is missing or a folder, before the model is read.

    Several arguments are not checked: each has a row of its own.
    """
    is_folder = len(arguments) == 1 and os.path.isdir(arguments[0]) and not recursive
    if not (is_folder or is_alone(arguments)) or arguments[0] == STDIN:
        return
    image = _file(arguments[0])
    if image.fault:
        raise InputError(image.fault)
    if image.path and not image.path.exists():
        raise NotFoundError(f"no file {image.name}", "an image")


def named_images(
    arguments: Sequence[str], *, recursive: bool = False, kind: FileKind = IMAGES
) -> Iterator[list[NamedFile]]:
    """Yield the images of the arguments in order; images of a folder are sorted by name.

    kind: of other files than images.
    """
    files = chain.from_iterable(_expanded(argument, recursive, kind) for argument in arguments)
    while group := list(islice(files, GROUP)):
        yield group


def count_images(arguments: Sequence[str], *, recursive: bool = False) -> int:
    """Return the number of images that the arguments name. Standard input is not read."""
    ahead = [argument for argument in arguments if argument != STDIN]
    found = sum(map(len, named_images(ahead, recursive=recursive)))
    return found + len(arguments) - len(ahead)


def listed_images(stream: BinaryIO) -> Iterator[list[NamedFile]]:
    """Yield the images whose paths are the lines of a stream; empty lines are skipped."""
    for chunk in read_chunks(stream):
        files = []
        for line in chunk:
            if line.fault and line.number == 1:
                raise ModelError(
                    f"standard input is {line.fault}: not a list of paths",
                    "a path on each line",
                    "for an image's own bytes say `attn caption -`",
                )
            if line.fault:
                files.append(NamedFile(line.text, fault=f"line {line.number} is {line.fault}"))
            elif not line.text.strip():
                files.append(NamedFile("", fault=f"line {line.number} names no image"))
            else:
                files.append(_file(line.text))
        yield files


def _expanded(argument: str, recursive: bool, kind: FileKind) -> Iterator[NamedFile]:
    if argument == STDIN:
        content = sys.stdin.buffer.read(IMAGE_BYTES + 1)
        fault = f"standard input has more than {IMAGE_BYTES:,} bytes"
        yield NamedFile(STDIN, content, fault if len(content) > IMAGE_BYTES else "")
    elif os.path.isdir(argument):
        yield from _folder(argument, kind) if recursive else [_file(argument)]
    elif is_archive(argument):
        yield from _archive(argument, kind)
    elif glob.has_magic(argument) and not os.path.exists(argument):
        found = sorted(name for name in _globbed(argument) if not os.path.isdir(name))
        yield from map(_file, found)
        if not found:
            yield NamedFile(argument, fault=f"no file matches {argument}")
    else:
        yield _file(argument)


def _file(name: str) -> NamedFile:
    if os.path.isdir(name):
        return NamedFile(name, fault=f"{name} is a folder; -r captions the images in it")
    archive, tar, member = name.partition(f"{TAR}/")
    if not (tar and is_archive(archive + TAR)):
        return NamedFile(name, Path(name))
    try:
        place = open_images(archive + TAR).find(member)
    except ModelError as error:
        return NamedFile(name, fault=str(error))
    return NamedFile(name, place) if place else NamedFile(name, fault=f"no file {name}")


def is_archive(name: str) -> bool:
    """Return True for a TAR file, which `attn train --images` reads too."""
    return name.lower().endswith(TAR) and os.path.isfile(name)


def _archive(name: str, kind: FileKind) -> Iterator[NamedFile]:
    """Return the images (by suffix) in a TAR file, in its order; nothing is unpacked."""
    try:
        places = open_images(name).places
    except ModelError as error:
        yield NamedFile(name, fault=str(error))
        return
    found = [member for member in places if member.lower().endswith(kind.suffixes)]
    yield from (NamedFile(f"{name}/{member}", places[member]) for member in found)
    if not found:
        yield NamedFile(name, fault=f"{name} has no file named like {kind.noun}")


def _folder(folder: str, kind: FileKind) -> Iterator[NamedFile]:
    """Return the images (by suffix) in a folder and its subfolders, except hidden files."""
    count = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(kind.suffixes) and not name.startswith("."):
                count += 1
                path = os.path.join(place, name)
                is_pipe = os.path.exists(path) and not os.path.isfile(path)
                fault = f"{path} is not a regular file"
                yield NamedFile(path, fault=fault) if is_pipe else _file(path)
    if not count:
        yield NamedFile(folder, fault=f"{folder} has no file named like {kind.noun}")


def _globbed(pattern: str) -> Iterator[str]:
    """Match a pattern that the shell did not expand.

    ** enters folders, but follows no links to folders: links in a circle have endless paths.
    """
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
