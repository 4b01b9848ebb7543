"""BLEU by source length on joined sentences (Bahdanau et al. 2015, figure 2).

    python benchmarks/lengths.py SOURCE REFERENCE --work WORK [--join 4] [-m RUN ...]

A corpus of short sentences has no long ones to test on. This script joins 1, 2, .. up to --join
neighbouring sentences on one line; the models translate the line as one sentence. WORK/joined.*
are the lines, which can also be used for training. With models, `attn evaluate` prints the table
and draws WORK/lengths.png.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path


def main() -> None:
    """Parse, join, evaluate."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", type=Path, nargs=2, metavar="FILE")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--join", type=int, default=4, help="most sentences on a line")
    parser.add_argument("--step", type=int, default=10, help="words per range of lengths")
    parser.add_argument("--tokenize", default="13a", help="as of `attn evaluate`")
    parser.add_argument("-m", "--model", action="append", default=[])
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    sides = zip(("source", "reference"), options.files, strict=True)
    places = [write(path, options.work / f"joined.{side}", options.join) for side, path in sides]
    if options.model:
        models = [word for model in options.model for word in ("-m", model)]
        tables = ["--by-length", "--length-step", str(options.step), "--tokenize", options.tokenize]
        picture = ["--plot", str(options.work / "lengths.png")]
        attn("evaluate", *models, *tables, *picture, *map(str, places))


def write(path: Path, place: Path, most: int) -> Path:
    """Write the joined lines of a file to another file."""
    lines = path.read_text("utf-8").removesuffix("\n").split("\n")
    place.write_text("".join(f"{line}\n" for line in joined(lines, most)), "utf-8")
    return place


def joined(lines: Sequence[str], most: int) -> Iterator[str]:
    """Return single lines, then pairs of lines, and so on; an incomplete last group is dropped."""
    for count in range(1, most + 1):
        for start in range(0, len(lines) - count + 1, count):
            yield " ".join(lines[start : start + count])


def attn(*arguments: str) -> None:
    """Run the command line as a user would."""
    print("$ attn", *arguments, flush=True)
    subprocess.run([sys.executable, "-m", "attncli", *arguments], check=True)


if __name__ == "__main__":
    main()
