"""Print processor time and final weights of a training in 1, 2 and 4 processes.

    python benchmarks/processes.py --preset transformer-nano

It trains on the embedded data. Equal hashes mean that the weights are equal bit for bit. Processor
seconds per update are the difference between a long and a short run, all processes together, so
that start and evaluation do not count.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from attncli.render.columns import columns

SHORT = 10  # updates of the run that is subtracted


class Kind(NamedTuple):
    """A way to compute the updates."""

    name: str
    options: tuple[str, ...]


KINDS = (
    Kind("1 process, undivided", ()),
    Kind("1 process", ("-s", "train.shards=4")),
    Kind("2 processes", ("--processes", "2")),
    Kind("4 processes", ("--processes", "4")),
    Kind("2 processes, all-reduce", ("--processes", "2", "--fast-reduce")),
)


class Outcome(NamedTuple):
    """Processor seconds of a run, and the hash of its final weights."""

    seconds: float
    weights: str


def main() -> None:
    """Train in every way and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--preset", default="transformer-nano", help="what is trained")
    parser.add_argument("--updates", type=int, default=100, help="of the longer runs")
    parser.add_argument("-s", dest="settings", action="append", default=[], help="a setting")
    given = parser.parse_args()
    common = ["-p", given.preset, *(word for value in given.settings for word in ("-s", value))]
    rows = [["", "processor seconds per update", "weights (SHA-256)"]]
    for kind in KINDS:
        short = train([*common, *kind.options], SHORT)
        long = train([*common, *kind.options], given.updates)
        each = (long.seconds - short.seconds) / (given.updates - SHORT)
        rows.append([kind.name, f"{each:.3f}", long.weights[:16]])
    print(columns(rows), end="")


def train(options: Sequence[str], updates: int) -> Outcome:
    """Train for some updates in a temporary folder."""
    fixed = [f"train.steps={updates}", "train.epochs=0", "train.metric=loss", "train.average=0"]
    fixed += [f"train.evaluate_every={updates}", "train.precision=fp32"]
    words = [word for value in fixed for word in ("-s", value)]
    with tempfile.TemporaryDirectory() as folder:
        place = ["-o", folder, "--device", "cpu", "--threads", "1", "--quiet"]
        before = children()
        command = [sys.executable, "-m", "attncli", "train", *place, *words, *options]
        subprocess.run(command, check=True)
        content = (Path(folder) / "model.safetensors").read_bytes()
    return Outcome(children() - before, hashlib.sha256(content).hexdigest())


def children() -> float:
    """Return the processor seconds of all programs that this one has started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
