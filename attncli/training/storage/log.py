"""log.jsonl: one JSON record per line, truncated to the checkpoint when a run continues."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attncli.training.loggers.base import Logger
from models.base.files import open_append, write_errors


class Log:
    """Log file that appends records and reports its size, which checkpoints store."""

    def __init__(self, path: Path, size: int, loggers: Sequence[Logger] = ()) -> None:
        self.path, self.loggers = path, loggers
        with write_errors(path):
            self.file = open_append(path)
            os.ftruncate(self.file.fileno(), min(size, self.size))

    def write(self, event: str, record: dict[str, Any]) -> None:
        """Append one record; write it to the experiment trackers too."""
        rounded = {
            key: float(f"{value:.6g}") if isinstance(value, float) else value
            for key, value in record.items()
        }
        with write_errors(self.path):
            self.file.write(json.dumps({"event": event, **rounded}).encode() + b"\n")
            self.file.flush()
            for logger in self.loggers:
                logger.write(event, rounded)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return os.fstat(self.file.fileno()).st_size

    def sync(self) -> None:
        """Flush the log to the disk; a checkpoint that stores its size is written afterwards."""
        with write_errors(self.path):
            os.fsync(self.file.fileno())

    def close(self) -> None:
        """End the run in the experiment trackers."""
        for logger in self.loggers:
            logger.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the records of a log. Damaged lines are skipped: they only affect the curves."""
    with path.open("rb") as file:
        found = [_record(line) for line in file]
    return [record for record in found if record]


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) and "event" in record else {}
