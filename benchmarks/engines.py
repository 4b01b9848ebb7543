"""Time of `attn translate` with each engine: one line from a cold start, or a file.

    python benchmarks/engines.py --bundle runs/en-de --rounds 5
    python benchmarks/engines.py --bundle runs/en-de --rounds 5 --file test.en --threads 1

Alternates `echo line | attn translate -m BUNDLE -s compute.backend=...`, or the same with a file as
its input, over the engines. The model is converted, and every file is read once, before the
measurement. Prints the medians of the processor seconds (user and system) and of the wall-clock
seconds of the whole process.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# what the `attn` script does
LAUNCH = "import sys; from attncli.shell.app import main; sys.exit(main())"
ENGINES = {
    "ctranslate2": ["-s", "compute.backend=ctranslate2"],
    "ctranslate2, int8": ["-s", "compute.backend=ctranslate2", "--precision", "int8"],
    "torch": ["-s", "compute.backend=torch"],
}


class Cost(NamedTuple):
    """Cost of a process, in seconds."""

    processor: float
    wall: float


def cost(command: list[str], text: bytes) -> Cost:
    """Return the cost of a process that translates a text: of its standard input, or of -i."""
    before, started = os.times(), time.perf_counter()
    subprocess.run(command, input=text, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
    wall, after = time.perf_counter() - started, os.times()
    user = after.children_user - before.children_user
    return Cost(user + after.children_system - before.children_system, wall)


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--to", default="", help="target language of a multilingual model")
    parser.add_argument("--line", default="A man in a blue shirt is standing on a ladder.")
    parser.add_argument("--file", type=Path, help="file to translate instead of the line")
    parser.add_argument("--threads", type=int, default=0, help="0: the default of each engine")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    start = [sys.executable, "-c", LAUNCH, "translate", "-m", str(given.bundle.resolve())]
    start += ["--to", given.to] if given.to else []
    start += ["--threads", str(given.threads)] if given.threads else []
    start += ["-i", str(given.file.resolve())] if given.file else []
    text = b"" if given.file else f"{given.line}\n".encode()
    found: dict[str, list[Cost]] = {name: [] for name in ENGINES}
    for options in ENGINES.values():
        cost([*start, *options], text)
    for _ in range(given.rounds):
        for name, options in ENGINES.items():
            found[name].append(cost([*start, *options], text))
    print(f"| median of {given.rounds} | processor, s | wall, s |\n|---|---:|---:|")
    for name, costs in found.items():
        processor, wall = (statistics.median(part) for part in zip(*costs, strict=True))
        print(f"| {name} | {processor:.2f} | {wall:.2f} |")


if __name__ == "__main__":
    main()
