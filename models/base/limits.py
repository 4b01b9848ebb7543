"""Table of ceilings: how much one input may make the program read, allocate or compute.

Each ceiling is a constant with a row in `CEILINGS`. The rows are printed in docs/limits.md; a test
compares the two. Ranges of settings are in `models.config.tables`.
"""

from __future__ import annotations

from typing import NamedTuple

MIB, GIB = 1 << 20, 1 << 30

LINE_BYTES = 16 * MIB
LINE_TAGS = 10_000
SPLIT_MARKS = 64
FILE_BYTES = 1 * GIB
WINDOW_BYTES = 128 * MIB
SENTENCES = 10_000_000
OUTPUT_TOKENS = 4096
DIGITS = 9
IMAGE_PIXELS = 100_000_000
IMAGE_BYTES = 512 * MIB
ARCHIVE_MEMBERS = 10_000_000
HTML_UNENDED = 1000


class Ceiling(NamedTuple):
    """A row of the table."""

    name: str  # the constant in this module
    of: str  # what it limits
    unit: str
    then: str  # what happens beyond it

    @property
    def value(self) -> int:
        """Return the ceiling itself."""
        found = globals()[self.name]
        assert isinstance(found, int)
        return found


REFUSED = "error, exit status 1"
CEILINGS = (
    Ceiling("LINE_BYTES", "a line of text", "bytes", "the line is reported, its result is empty"),
    Ceiling("LINE_TAGS", "tags in a line, with `--keep-tags`", "tags", "the line is reported"),
    Ceiling("SPLIT_MARKS", "combining marks on one letter", "marks", "a long line is cut there"),
    Ceiling("FILE_BYTES", "a file that is read as a whole, decompressed", "bytes", REFUSED),
    Ceiling("WINDOW_BYTES", "memory that a compressed file may ask for", "bytes", REFUSED),
    Ceiling("SENTENCES", "sentence pairs of a file of links", "pairs", REFUSED),
    Ceiling("DIGITS", "a word or sentence number in a file of links", "digits", REFUSED),
    Ceiling("OUTPUT_TOKENS", "an output, whatever a model asks for", "tokens", "cut and reported"),
    Ceiling("IMAGE_PIXELS", "an image, and all that are decoded at a time", "pixels", "reported"),
    Ceiling("IMAGE_BYTES", "the file of an image", "bytes", "the image is reported"),
    Ceiling("ARCHIVE_MEMBERS", "files in a TAR file or folder of images", "files", REFUSED),
    Ceiling("HTML_UNENDED", "tags and comments of HTML without an end", "parts", REFUSED),
)


def table() -> str:
    """Return the ceilings as a Markdown table."""
    rows = [f"| {c.of} | {c.value:,} {c.unit} | {c.then} | `{c.name}` |" for c in CEILINGS]
    head = "| limit on | at most | beyond it | in `models/base/limits.py` |\n|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"
