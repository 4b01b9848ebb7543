"""Converted models in the user's cache: $XDG_CACHE_HOME/attn/ctranslate2/DIGEST-PRECISION.

The digest covers the files of the bundle, so a changed bundle is converted again. Where the cache
cannot be written, the model is converted into memory each time. The cache may be removed at any
time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from models.bundle.digests import check_digests, file_digest, read_digests
from models.errors import ModelError
from models.files import write_folder

LAYOUT = 1  # version of the conversion; increase it if convert.py writes other files
MODEL = "model.bin"

Files = Mapping[str, bytes]


class Converted(NamedTuple):
    """A CTranslate2 model: a folder, or its files in memory."""

    folder: Path
    files: Files | None


def cached(name: str, convert: Callable[[], Files]) -> Converted:
    """Return the cached model of a name; convert and store it if there is none."""
    folder = _cache_folder()
    if folder is None:
        return Converted(Path(name), convert())
    if (folder / name / MODEL).is_file():
        return Converted(folder / name, None)
    files = convert()
    with contextlib.suppress(ModelError):  # a cache that cannot be written
        write_folder(folder / name, lambda place: _write(place, files))
    return Converted(folder / name, files)


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
    return whole.hexdigest()[:32]


def _cache_folder() -> Path | None:
    """Return the folder of the cache; None if the user has no home folder."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        return None
    return cache / "attn" / "ctranslate2"


def _write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)
