"""SHA-256 digests of the files of a bundle or of prepared data: SHA256SUMS, as for `sha256sum -c`.

A file may have two digests: the old and the new one, while it is being replaced. A process that is
killed in between leaves a bundle that still loads. A bundle without digests is not checked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from models.core.errors import DamagedError, ModelError, intact
from models.core.files import read_regular, write_bytes, write_text

NAME = "SHA256SUMS"
MAX_BYTES = 1 << 20
MAX_PACKED_BYTES = 1 << 24  # bytes of a packed part
LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")

Digests = dict[str, frozenset[str]]  # of each file


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write some files of a bundle and their digests; each file completely or not at all."""
    new = {
        name: frozenset([hashlib.sha256(content).hexdigest()]) for name, content in contents.items()
    }
    old = read_digests(folder)
    if old:
        none: frozenset[str] = frozenset()
        # both digests while files are replaced, so that a kill in between leaves a bundle that
        # loads
        _write(folder, {n: old.get(n, none) | new.get(n, none) for n in {**old, **new}})
    for name, content in contents.items():
        write_bytes(folder / name, content)
    _write(folder, {**old, **new})


def read_part(folder: Path, name: str) -> bytes:
    """Return a packed part of a bundle, which the core carries along; b"" without it."""
    path = folder / name
    if not path.is_file():
        return b""
    with intact(path, "a file of the model"):
        return read_regular(path, MAX_PACKED_BYTES)


def add_digest(folder: Path, name: str) -> None:
    """Store the digest of a file that is outside the bundle, by its path from there."""
    _write(folder, {**read_digests(folder), name: frozenset([file_digest(folder / name)])})


def write_digests(folder: Path) -> None:
    """Write the digests of all files in a folder and below it."""
    files = (path for path in folder.rglob("*") if path.is_file() and path != folder / NAME)
    named = ((path.relative_to(folder).as_posix(), path) for path in files)
    _write(folder, {name: frozenset([file_digest(path)]) for name, path in named})


def read_digests(folder: Path) -> Digests:
    """Return the digests stored in a bundle; none if it was written without."""
    path = folder / NAME
    if not path.exists():
        return {}
    found: Digests = {}
    with intact(path, "lines of a digest and a file name", "get the model again"):
        lines = read_regular(path, MAX_BYTES).decode("utf-8").removesuffix("\n").split("\n")
        for number, line in enumerate(lines, 1):
            match = LINE.fullmatch(line)
            if not match:
                raise ValueError(f"line {number}")
            found[match[2]] = found.get(match[2], frozenset()) | {match[1]}
    return found


def check_digests(folder: Path, names: Iterable[str], hint: str = "") -> None:
    """Compare files of a folder with their digests, if it has any. hint: what the user can do.

    Raises DamagedError for the first file that differs or has none.
    """
    digests = read_digests(folder)
    for name in names if digests else ():
        if not matches(folder, name, digests):
            raise DamagedError(
                f"{folder / name} differs from its digest in {NAME}",
                "the file as attn wrote it",
                hint or f"get the model again or, if you changed the file, remove {folder / NAME}",
            )


def matches(folder: Path, name: str, digests: Digests) -> bool:
    """Return True if a file has one of the digests stored for it."""
    return file_digest(folder / name) in digests.get(name, frozenset())


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with intact(path, "a file of the model"), path.open("rb") as file:
        # in blocks, because weights may be larger than the memory
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def weights_hash(folder: Path) -> str:
    """Return a hash of the weights in a model's folder."""
    try:
        return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    except OSError as error:
        raise ModelError(
            f"cannot read the initial model {folder} ({error.strerror})",
            "a folder made by `attn train`",
        ) from None


def _write(folder: Path, digests: Digests) -> None:
    lines = [f"{digest}  {name}\n" for name in sorted(digests) for digest in sorted(digests[name])]
    write_text(folder / NAME, "".join(lines))
