"""Digest of the files of a bundle, remembered while the files stay as they are.

$XDG_CACHE_HOME/attn/digests/PATH-DIGEST has one line: a digest of the size, times and inode of each
file, and the digest of their contents. Reading the contents would take longer than translating a
line. A file that was changed within the last seconds is always read again, because a second change
might have the same time.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

from models.base.errors import ModelError
from models.base.files import write_text
from models.inference.ctranslate2.cache import LAYOUT, cache_folder
from models.storage.digests import NAME as SUMS
from models.storage.digests import check_digests, file_digest, read_digests

SETTLED = 5_000_000_000  # nanoseconds after which a file's time tells every change
LENGTH = 32  # characters of a digest


def checked_digest(folder: Path, names: Iterable[str]) -> str:
    """Return the digest of some files of a bundle together.

    Raises ModelError if a file is missing, or differs from the digest stored for it.
    """
    names = sorted(names)
    state, record = _state(folder, names), _record(folder)
    if state and record and (known := _known(record, state)):
        return known
    digest = _digest(folder, names)
    if state and record:
        with contextlib.suppress(ModelError, OSError):  # a cache that cannot be written
            record.parent.mkdir(parents=True, exist_ok=True)
            write_text(record, f"{state} {digest}\n")
    return digest


def _digest(folder: Path, names: list[str]) -> str:
    stored, whole = read_digests(folder), hashlib.sha256(f"{LAYOUT}".encode())
    for name in names:
        digest = file_digest(folder / name)
        if stored and digest not in stored.get(name, ()):
            check_digests(folder, [name])  # raises
        whole.update(f"{name} {digest}\n".encode())
    return whole.hexdigest()[:LENGTH]


def _state(folder: Path, names: list[str]) -> str:
    """Return a digest of size, times and inode of the files; "" if one is missing or new."""
    try:
        found = [(folder / name).stat() for name in names]
        sums = folder / SUMS
        found += [sums.stat()] if sums.exists() else []
    except OSError:
        return ""
    newest = max(max(file.st_mtime_ns, file.st_ctime_ns) for file in found)
    if newest > time.time_ns() - SETTLED:
        return ""
    facts = [(f.st_size, f.st_mtime_ns, f.st_ctime_ns, f.st_ino, f.st_dev) for f in found]
    return hashlib.sha256(f"{LAYOUT} {names} {facts}".encode()).hexdigest()[:LENGTH]


def _record(folder: Path) -> Path | None:
    """Return the file that remembers the digest of a bundle; None without a cache."""
    cache = cache_folder("digests")
    path = str(folder.resolve()).encode("utf-8", "surrogateescape")
    return cache / hashlib.sha256(path).hexdigest()[:LENGTH] if cache else None


def _known(record: Path, state: str) -> str:
    """Return the digest that is remembered for a state of the files; "" if there is none."""
    try:
        found, _, digest = record.read_text("ascii").strip().partition(" ")
    except (OSError, ValueError):
        return ""
    return digest if found == state and len(digest) == LENGTH else ""
