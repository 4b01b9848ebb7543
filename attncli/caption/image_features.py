"""Cache of image features, computed once and reused by later runs: rows of one shape.

FOLDER/rows.bin      the rows end to end, memory-mapped; it only grows
FOLDER/sums.bin      the SHA-256 of each row, 32 bytes
FOLDER/keys.txt      the content hash of each row's image; a row is valid once its line is complete
FOLDER/about.json    shape and type of a row, and how it was computed

A killed process leaves the rows whose keys it has written, and the next process continues there.
A row that differs from its SHA-256 is missing; its picture gets another row, the last one counts.
One process writes at a time; any number may read.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from models.core.errors import DamagedError, ModelError, intact
from models.core.files import open_append, try_lock, write_errors, write_text
from models.core.settings import parse_json

KEY = 64  # letters of a content hash
SUM = 32  # bytes of a row's SHA-256
CACHE = "ATTN_CACHE"  # the environment's name for the folder of all caches
WAIT = 0.5  # seconds between two attempts to lock the cache


class RowKind(NamedTuple):
    """Shape, type and origin of the rows of a cache."""

    shape: tuple[int, ...]
    type: str  # a numpy type: float16 for features, uint8 for pixels
    made_by: str  # in words, for people


def cache_folder() -> Path:
    """Return the folder of all caches: $ATTN_CACHE, or attn in the user's cache folder."""
    if named := os.environ.get(CACHE):
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "attn"


class FeatureCache:
    """Rows keyed by the content hash of their image."""

    def __init__(self, folder: Path, kind: RowKind) -> None:
        self.folder, self.kind = folder, kind
        self.rows_path, self.keys_path = folder / "rows.bin", folder / "keys.txt"
        self.sums_path = folder / "sums.bin"
        self.row_bytes = int(np.prod(kind.shape)) * np.dtype(kind.type).itemsize
        self.places: dict[str, int] = {}
        self.intact: set[int] = set()  # rows that were compared with their sums
        with write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            paths = self.rows_path, self.sums_path, self.keys_path
            is_new = not (folder / "about.json").exists()
            if any(path.is_symlink() for path in paths) or is_new and any(folder.glob("[!.]*")):
                raise ModelError(
                    f"{folder} contains other files than a feature cache",
                    "a new or empty folder",
                    "set ATTN_CACHE to another folder",
                )
            if is_new:
                write_text(folder / "about.json", json.dumps(kind._asdict(), indent=2) + "\n")
        stored = read_kind(folder)
        if stored[:2] != kind[:2]:
            raise ModelError(
                f"the feature cache {folder} has rows {stored.type} {stored.shape}",
                f"{kind.type} {kind.shape}",
                "remove that folder",
            )
        self.refresh()

    def refresh(self) -> None:
        """Read the keys of the rows that are stored now."""
        keys = self.keys_path.read_bytes() if self.keys_path.exists() else b""
        size = self.rows_path.stat().st_size if self.rows_path.exists() else 0
        self.sums = self.sums_path.read_bytes() if self.sums_path.exists() else b""
        whole = min(len(keys) // (KEY + 1), size // self.row_bytes, len(self.sums) // SUM)
        self.places = {
            keys[start : start + KEY].decode("ascii", "replace"): row
            for row, start in enumerate(range(0, whole * (KEY + 1), KEY + 1))
        }
        self.count = whole

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Return the keys without an intact row, each once, in order; a row is compared once."""
        table, found = self.table(), []
        for key in dict.fromkeys(keys):
            row = self.places.get(key)
            if row is None:
                found.append(key)
            elif row in self.intact or _sum(table[row]) == self.sums[row * SUM : (row + 1) * SUM]:
                self.intact.add(row)
            else:
                found.append(key)
        return found

    def rows(self, keys: Iterable[str]) -> np.ndarray:
        """Return the row numbers (N,) of stored images."""
        return np.array([self.places[key] for key in keys], np.int64)

    def table(self) -> np.ndarray:
        """Return all rows, memory-mapped: (rows, *shape)."""
        if not self.count:
            return np.zeros((0, *self.kind.shape), self.kind.type)
        shape = (self.count, *self.kind.shape)
        return np.memmap(self.rows_path, self.kind.type, "r", shape=shape)

    @contextmanager
    def writing(self, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Lock the cache for `add`; call `waiting` while another process has locked it."""
        with write_errors(self.folder):
            file = open_append(self.folder / ".lock")
        with file:
            while not try_lock(file.fileno()):
                waiting()
                time.sleep(WAIT)
            self.refresh()
            sizes = {self.rows_path: self.row_bytes, self.sums_path: SUM, self.keys_path: KEY + 1}
            for path, size in sizes.items():  # a killed process may leave a part of a row
                if path.exists() and path.stat().st_size > self.count * size:
                    with write_errors(path):
                        os.truncate(path, self.count * size)
            self.sums = self.sums[: self.count * SUM]
            yield

    def add(self, keys: Sequence[str], rows: np.ndarray) -> None:
        """Append rows (N, *shape). Rows and sums are flushed before the keys are written."""
        if rows.shape[1:] != self.kind.shape or len(keys) != len(rows):
            raise ValueError(f"rows {rows.shape} for {len(keys)} keys of {self.kind.shape}")
        with write_errors(self.folder):
            stored = np.ascontiguousarray(rows, self.kind.type)
            _append(self.rows_path, stored.tobytes())
            sums = b"".join(map(_sum, stored))
            _append(self.sums_path, sums)
            _append(self.keys_path, "".join(f"{key}\n" for key in keys).encode("ascii"))
        self.sums += sums
        for key in keys:
            self.places[key] = self.count
            self.count += 1


def read_kind(folder: Path) -> RowKind:
    """Return the kind of rows of a cache; raise DamagedError if it cannot be read."""
    with intact(f"the feature cache {folder}", "what attn wrote there", "remove that folder"):
        found = parse_json((folder / "about.json").read_text("utf-8"))
        return RowKind(tuple(found["shape"]), found["type"], found["made_by"])


def verify_cache(folder: Path) -> None:
    """Compare all rows of a cache with their sums; raise DamagedError if one differs."""
    cache = FeatureCache(folder, read_kind(folder))
    if damaged := cache.missing(cache.places):
        raise DamagedError(
            f"{len(damaged):,} of {len(cache.places):,} rows of the feature cache {folder} differ "
            "from their digests",
            "the rows as attn wrote them",
            "the next `attn train` that needs them computes them again",
        )


def _sum(row: np.ndarray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(row).tobytes()).digest()


def _append(path: Path, content: bytes) -> None:
    with open_append(path) as file:
        file.write(content)
        os.fsync(file.fileno())
