"""Files of tests from a text, bytes or lines."""

from __future__ import annotations

from pathlib import Path


def write(path: Path, content: str | bytes | list[str]) -> Path:
    """Write a file and return its path; lines get their ends."""
    if isinstance(content, list):
        content = "".join(f"{line}\n" for line in content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
