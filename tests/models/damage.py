"""Damage to stored files."""

from __future__ import annotations

from pathlib import Path


def flip(path: Path, at: float = 0.9) -> None:
    """Invert a bit of a file, at a share of its length."""
    content = bytearray(path.read_bytes())
    content[int(len(content) * at)] ^= 1
    path.write_bytes(content)
