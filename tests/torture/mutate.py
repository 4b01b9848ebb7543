"""Mutation of bytes and of JSON values, by a seeded generator."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

VALUES: list[Any] = [0, -1, 1, 2**31, 2**63, 10**30, 1e308, float("nan"), float("inf"), None]
VALUES += ["", "x" * 1000, True, [], {}, [[]], "\x1b[2J", "../../etc/passwd", 0.5]
PIECES = [b"\0", b"\xff", b"\n", b"\t", b"\r\n", b"{", b"[" * 5000, b"9" * 5000, b"\x1b[2J"]
PIECES += ["\u0301".encode() * 300, b"\xed\xa0\x80", b"%", b"<b>", b"</b>", b"&lt;", b"1e999"]


def mutate(content: bytes, random: Random) -> bytes:
    """Return the content with one to four changes."""
    data = bytearray(content)
    for _ in range(random.randrange(1, 5)):
        at = random.randrange(len(data) + 1)
        kind = random.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[at : at + random.randrange(1, 64)] = b""
        elif kind == 2:
            data[at:at] = random.choice(PIECES)
        elif kind == 3:
            data[at : at + 8] = random.randbytes(8)
        elif kind == 4:
            del data[at:]
        else:
            data[at:at] = data[at : at + random.randrange(1, 512)] * random.randrange(1, 5)
    return bytes(data)


def mutate_json(value: Any, random: Random) -> Any:
    """Return a JSON value with one value, at any depth, replaced, removed or wrapped."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(sorted(value))
        changed = dict(value)
        if random.random() < 0.05:
            del changed[key]
        else:
            changed[key] = mutate_json(value[key], random)
        return changed
    if isinstance(value, list) and value and random.random() < 0.9:
        at = random.randrange(len(value))
        return [mutate_json(one, random) if n == at else one for n, one in enumerate(value)]
    if isinstance(value, int) and random.random() < 0.5:
        return random.choice([value * 10, value + 1, value - 1, -value, value * 10**6])
    return random.choice(VALUES)


def damage(path: Path, random: Random) -> None:
    """Change bytes of the first 64 KiB of a file, or values of JSON."""
    content = path.read_bytes()
    if path.suffix == ".json" and random.random() < 0.9:
        content = json.dumps(mutate_json(json.loads(content), random)).encode()
    else:
        content = mutate(content[: 1 << 16], random) + content[1 << 16 :]
    path.write_bytes(content)
