"""A text as a digest of its words and figures, which are compared with a tolerance.

Another processor or version of torch changes the last digits of a score, and no word. The digest
therefore covers the text without its decimal numbers; of these, their count and sum are kept.
"""

from __future__ import annotations

import hashlib
import math
import re
from pathlib import Path
from typing import NamedTuple

EXPECTED = Path(__file__).with_name("outputs.tsv")
DECIMAL = re.compile(r"-?\d+(?:\.\d+(?:e[+-]?\d+)?|e-\d+)")
LETTERS = 16  # of a digest
RELATIVE = 2e-3  # difference of the figures between processors, measured in int8 and bf16


class Measured(NamedTuple):
    """Digest and figures of an output."""

    words: str  # digest of the text without its decimal numbers
    figures: int  # how many decimal numbers it has
    total: float  # sum of their absolute values
    bits: str = ""  # digest of the whole output: equal on one machine alone

    def agrees(self, other: Measured) -> bool:
        """Return True if words and figures are those of another run, up to the last digits."""
        near = math.isclose(self.total, other.total, rel_tol=RELATIVE, abs_tol=1e-6)
        return (self.words, self.figures) == (other.words, other.figures) and near


def measured(text: str, bits: bytes = b"") -> Measured:
    """Return the digest and figures of a text. bits: what is compared bitwise with the text."""
    found = [abs(float(one)) for one in DECIMAL.findall(text)]
    words = digest(DECIMAL.sub("#", text).encode())
    return Measured(words, len(found), round(math.fsum(found), 6), digest(text.encode() + bits))


def digest(data: bytes) -> str:
    """Return the beginning of a SHA-256."""
    return hashlib.sha256(data).hexdigest()[:LETTERS]


def read_expected() -> dict[str, Measured]:
    """Return what is kept of each case, by name."""
    rows = (line.split("\t") for line in EXPECTED.read_text("utf-8").splitlines()[1:])
    return {
        name: Measured(words, int(figures), float(total), bits)
        for name, words, figures, total, bits in rows
    }


def write_expected(found: dict[str, Measured]) -> None:
    """Store what is kept of each case."""
    rows = ["\t".join(map(str, (name, *one))) for name, one in found.items()]
    head = "\t".join(("case", *Measured._fields))
    EXPECTED.write_text("".join(f"{row}\n" for row in (head, *rows)), "utf-8")
