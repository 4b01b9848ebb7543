"""Tiny tables with the names and columns of the data that recipes/sequences.py reads."""

from __future__ import annotations

import lzma
from pathlib import Path

LETTERS = {"a": "AE1", "t": "T", "p": "P", "s": "S", "n": "N", "o": "AA1"}


def write_pairs(folder: Path) -> None:
    """Write the folder pairs/, and abstracts.txt."""
    target = folder / "pairs"
    target.mkdir()
    words = [f"{a}{b}{c}{d}" for a in "tpsn" for b in "ao" for c in "tpsn" for d in ("", "s")]
    write(target / "cmudict.train.tsv.xz", [spoken(word) for word in words[8:]])
    several = [*map(spoken, words[:8]), f"{words[0]}\tT AH0 T"]
    write(target / "cmudict.dev.tsv.xz", several)
    parses = [f"A {a} ran .\t{a} ( x _ 1 ) AND run . agent ( x _ 2 , x _ 1 )\tkind" for a in words]
    write(target / "cogs.train.tsv.xz", parses[8:])
    write(target / "cogs.dev.tsv.xz", parses[:8])
    write(target / "scan_train_length.tsv.xz", [repeated(number) for number in range(1, 25)])
    texts = [
        f"The {a} is here. It has a {b}.\tA {b}." for a, b in zip(words, words[1:], strict=False)
    ]
    write(target / "scitldr.train.tsv.xz", texts[8:])
    write(target / "scitldr.dev.tsv.xz", texts[:8])
    (folder / "abstracts.txt").write_text("The tap is here. It has a tan.\n")


def spoken(word: str) -> str:
    """Return a word and its phonemes as a row."""
    return f"{word}\t{' '.join(LETTERS[letter] for letter in word)}"


def repeated(number: int) -> str:
    """Return a command and as many actions as a row."""
    return f"walk {number}\t{' '.join(['I_WALK'] * number)}"


def write(path: Path, rows: list[str]) -> None:
    """Write a compressed table."""
    path.write_bytes(lzma.compress("".join(f"{row}\n" for row in rows).encode()))
