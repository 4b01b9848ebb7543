"""A cache of what a frozen encoder makes of pictures: rows of one shape that later runs find again.

FOLDER/rows.bin      the rows end to end, memory-mapped; it only grows
FOLDER/keys.txt      the content hash of each row's picture: a row counts once its line is whole
FOLDER/about.json    shape and type of a row, and what made it

A process that is killed leaves the rows it had noted, and the next one goes on there. One process
writes at a time; any number read.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from models.errors import ModelError
from models.files import open_append, refused, taken, write_text
from models.parsing import parse_json

KEY = 64  # letters of a content hash
CACHE = "ATTN_CACHE"  # the environment's name for the folder of all caches
WAIT = 0.5  # seconds between two looks at whether another process has ended


class RowKind(NamedTuple):
    """What the rows of a cache are."""

    shape: tuple[int, ...]
    type: str  # a numpy type: float16 for features, uint8 for pixels
    made_by: str  # in words, for people


def cache_folder() -> Path:
    """Where caches go: $ATTN_CACHE, or attn in the user's cache folder."""
    if named := os.environ.get(CACHE):
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "attn"


class FeatureCache:
    """Rows by the content of their pictures."""

    def __init__(self, folder: Path, kind: RowKind) -> None:
        self.folder, self.kind = folder, kind
        self.rows_path, self.keys_path = folder / "rows.bin", folder / "keys.txt"
        self.row_bytes = int(np.prod(kind.shape)) * np.dtype(kind.type).itemsize
        self.places: dict[str, int] = {}
        with refused(folder):
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / "about.json").exists():
                write_text(folder / "about.json", json.dumps(kind._asdict(), indent=2) + "\n")
        self._check()
        self.refresh()

    def refresh(self) -> None:
        """Learn of the rows that are there by now."""
        keys = self.keys_path.read_bytes() if self.keys_path.exists() else b""
        size = self.rows_path.stat().st_size if self.rows_path.exists() else 0
        whole = min(len(keys) // (KEY + 1), size // self.row_bytes)
        self.places = {
            keys[start : start + KEY].decode("ascii", "replace"): row
            for row, start in enumerate(range(0, whole * (KEY + 1), KEY + 1))
        }
        self.count = whole

    def missing(self, keys: Iterable[str]) -> list[str]:
        """The keys without a row, each once, in order."""
        return [key for key in dict.fromkeys(keys) if key not in self.places]

    def rows(self, keys: Iterable[str]) -> np.ndarray:
        """The row numbers (N,) of pictures that are there."""
        return np.array([self.places[key] for key in keys], np.int64)

    def table(self) -> np.ndarray:
        """All rows, memory-mapped: (rows, *shape)."""
        if not self.count:
            return np.zeros((0, *self.kind.shape), self.kind.type)
        shape = (self.count, *self.kind.shape)
        return np.memmap(self.rows_path, self.kind.type, "r", shape=shape)

    @contextmanager
    def writing(self, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold the cache for `add`, after whoever holds it now; `waiting` is called meanwhile."""
        with refused(self.folder):
            file = open_append(self.folder / ".lock")
        with file:
            while not taken(file.fileno()):
                waiting()
                time.sleep(WAIT)
            self.refresh()
            self._cut()
            yield

    def add(self, keys: Sequence[str], rows: np.ndarray) -> None:
        """Append rows (N, *shape), on the disk before their keys say so."""
        if rows.shape[1:] != self.kind.shape or len(keys) != len(rows):
            raise ValueError(f"rows {rows.shape} for {len(keys)} keys of {self.kind.shape}")
        with refused(self.folder):
            _append(self.rows_path, np.ascontiguousarray(rows, self.kind.type).tobytes())
            _append(self.keys_path, "".join(f"{key}\n" for key in keys).encode("ascii"))
        for key in keys:
            self.places[key] = self.count
            self.count += 1

    def _cut(self) -> None:
        """Remove what a killed process had begun to write."""
        for path, size in ((self.rows_path, self.row_bytes), (self.keys_path, KEY + 1)):
            if path.exists() and path.stat().st_size > self.count * size:
                with refused(path):
                    os.truncate(path, self.count * size)

    def _check(self) -> None:
        try:
            found = parse_json((self.folder / "about.json").read_text("utf-8"))
            stored = RowKind(tuple(found["shape"]), found["type"], found["made_by"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            seen = f"the feature cache {self.folder} is damaged ({error})"
            raise ModelError(seen, "what attn wrote there", "remove that folder") from None
        if stored[:2] != self.kind[:2]:
            raise ModelError(
                f"the feature cache {self.folder} has rows {stored.type} {stored.shape}",
                f"{self.kind.type} {self.kind.shape}",
                "remove that folder",
            )


def _append(path: Path, content: bytes) -> None:
    with open_append(path) as file:
        file.write(content)
        os.fsync(file.fileno())
