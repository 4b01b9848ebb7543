"""Tiny tables with the names of the everyday sentences of the tutorial, and texts to translate."""

from __future__ import annotations

import lzma
from pathlib import Path

from attncli.embedded.grammar import generate


def write_everyday(folder: Path) -> None:
    """Write eng-fra.train.tsv.xz, eng-fra.dev.tsv, eng-fra.test.tsv, notes.txt and terms.tsv."""
    rows = [f"{pair.source}\t{pair.target}\n" for pair in generate(76)]
    (folder / "eng-fra.train.tsv.xz").write_bytes(lzma.compress("".join(rows[:60]).encode()))
    (folder / "eng-fra.dev.tsv").write_text("".join(rows[60:72]), "utf-8")
    (folder / "eng-fra.test.tsv").write_text("".join(rows[72:]), "utf-8")
    (folder / "notes.txt").write_text("The dog sees the car.\nThe forest is old.\n", "utf-8")
    (folder / "terms.tsv").write_text("dog\tchien\n", "utf-8")
