"""log.jsonl: one record a line, cut back to the checkpoint when a run goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from models.files import refused


class Log:
    """Appends records; knows its size, so that a checkpoint can note it."""

    def __init__(self, path: Path, size: int) -> None:
        with refused(path):
            self.path, self.file = path, path.open("ab")
            os.ftruncate(self.file.fileno(), min(size, os.fstat(self.file.fileno()).st_size))

    def write(self, record: dict[str, Any]) -> None:
        """Append one record."""
        rounded = {
            key: float(f"{value:.6g}") if isinstance(value, float) else value
            for key, value in record.items()
        }
        with refused(self.path):
            self.file.write(json.dumps(rounded).encode() + b"\n")
            self.file.flush()

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return os.fstat(self.file.fileno()).st_size

    def close(self) -> None:
        """Flush to the disk and close."""
        with refused(self.path):
            os.fsync(self.file.fileno())
            self.file.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of a log."""
    with path.open("rb") as file:
        return [json.loads(line) for line in file]
