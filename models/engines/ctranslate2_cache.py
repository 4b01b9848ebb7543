"""Converted models in the user's cache: $XDG_CACHE_HOME/attn/ctranslate2/DIGEST-PRECISION.

The digest covers the files of the bundle, so a changed bundle is converted again. The converted
files have digests of their own, which are compared each time: a model with a flipped bit would give
other outputs without an error, so it is converted again. Where the cache cannot be written, the
model is converted into memory each time. The cache keeps the models that were used last, and may be
removed at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from models.core.errors import DamagedError, ModelError
from models.core.files import write_folder
from models.storage.digests import (
    check_digests,
    file_digest,
    matches,
    read_digests,
    write_digests,
)

LAYOUT = 3  # version of the conversion; increase it if convert.py writes other files
MODEL = "model.bin"
# a converted model takes as much space as its weights, and each training of one makes another
MAX_MODELS = 8  # in the cache
LENGTH = 32  # characters of a digest

Files = Mapping[str, bytes]


class Converted(NamedTuple):
    """A CTranslate2 model: a folder, or its files in memory."""

    folder: Path
    files: Files | None


def cached(name: str, convert: Callable[[], Files]) -> Converted:
    """Return the cached model of a name; convert and store it if none is there and intact."""
    folder = cache_folder("ctranslate2")
    if folder is None:
        return Converted(Path(name), convert())
    # a flipped bit gives other outputs without an error, so digests are compared each time
    if is_intact(folder / name):
        with contextlib.suppress(OSError):  # a cache that cannot be written
            os.utime(folder / name)  # tells when it was used
        return Converted(folder / name, None)
    files = convert()
    with contextlib.suppress(ModelError):
        write_folder(folder / name, lambda place: _write(place, files))
        with contextlib.suppress(OSError):
            # by the form of the name: what somebody else put into the cache stays
            ours = folder.glob("[0-9a-f]" * LENGTH + "-*/")
            used = sorted(ours, key=lambda one: one.stat().st_mtime, reverse=True)
            for oldest in used[MAX_MODELS:]:
                shutil.rmtree(oldest, ignore_errors=True)
    return Converted(folder / name, files)


def is_intact(folder: Path) -> bool:
    """Return True if all files of a cached model have the digests that were stored with them."""
    try:
        digests = read_digests(folder)
        return MODEL in digests and all(matches(folder, name, digests) for name in digests)
    except DamagedError:
        return False


def cache_folder(name: str) -> Path | None:
    """Return a folder of the user's cache; None if the user has no home folder."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        return None
    return cache / "attn" / name


def _write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    write_digests(folder)


def checked_digest(folder: Path, names: Iterable[str]) -> str:
    """Return the digest of some files of a bundle together.

    Raises ModelError if a file is missing, or differs from the digest stored for it.
    """
    stored, whole = read_digests(folder), hashlib.sha256(f"{LAYOUT}".encode())
    for name in sorted(names):
        digest = file_digest(folder / name)
        if stored and digest not in stored.get(name, ()):
            check_digests(folder, [name])  # raises
        whole.update(f"{name} {digest}\n".encode())
    return whole.hexdigest()[:LENGTH]
