"""Write the embedded sentences of `attn train`: attncli/data/grammar.tsv.xz.

    python recipes/write_grammar.py

Rows are tense, English sentence, German sentence and links, in the order in which grammar/ draws
them with seed 1.
"""

from __future__ import annotations

import lzma
from pathlib import Path

from grammar import rows

FILE = Path(__file__).parents[1] / "attncli/data/grammar.tsv.xz"
COUNT = 9_100  # 8,000 for training, 500 of dev, 500 of test, and repeated ones


def content() -> str:
    """Return the table."""
    return "".join("\t".join(row) + "\n" for row in rows(COUNT))


if __name__ == "__main__":
    packed = lzma.compress(content().encode(), preset=9 | lzma.PRESET_EXTREME)
    FILE.write_bytes(packed)
    print(f"wrote {FILE}: {COUNT:,} rows, {len(packed):,} bytes")
