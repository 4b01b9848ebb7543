"""The replay set of a bundle: sentence pairs that remind a model of what it knew.

replay.tsv.gz        a line: direction such as en-de, tab, source, tab, target; gzip

A run that starts from the bundle mixes the pairs into its data (rehearsal; Robins 1995). The first
line of a source has its reference; further lines of it have outputs of the model. No torch here.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from models.core.errors import intact
from models.storage.digests import check_digests, read_part
from models.storage.settings import REPLAY

MAX_BYTES = 1 << 24  # decompressed


class ReplayPair(NamedTuple):
    """A sentence pair of a direction."""

    direction: str  # such as en-de
    source: str
    target: str


def read_replay(folder: Path) -> list[ReplayPair]:
    """Return the replay set of a bundle, [] if it has none; a DamagedError if it is damaged."""
    packed = read_part(folder, REPLAY)
    if not packed:
        return []
    check_digests(folder, [REPLAY])
    with intact(folder / REPLAY, "lines of direction, source and target", "", zlib.error):
        unpacker = zlib.decompressobj(wbits=31)
        text = unpacker.decompress(packed, MAX_BYTES)
        if unpacker.unconsumed_tail:
            raise ValueError(f"more than {MAX_BYTES:,} bytes")
        rows = (line.split("\t") for line in text.decode("utf-8").splitlines())
        return [ReplayPair(*row) for row in rows]


def pack_replay(pairs: Iterable[ReplayPair]) -> bytes:
    """Return the content of the file for some pairs; equal pairs give equal bytes."""
    text = "".join("\t".join(pair) + "\n" for pair in pairs)
    return gzip.compress(text.encode(), mtime=0)
