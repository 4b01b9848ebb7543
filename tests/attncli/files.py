"""Files of tests from a text, bytes, or lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def write(path: Path, content: str | bytes | Iterable[str | Sequence[str]]) -> Path:
    """Write a file and return its path; lines get their ends, and rows tabs between their cells."""
    if isinstance(content, str):
        content = content.encode()
    elif not isinstance(content, bytes):
        lines = (line if isinstance(line, str) else "\t".join(line) for line in content)
        content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(content)
    return path
