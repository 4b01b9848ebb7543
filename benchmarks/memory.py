"""Peak memory of `attn train` on millions of pairs, and of `attn translate` on growing files.

    python benchmarks/memory.py train --work WORK --pairs 100000 1000000 10000000
    python benchmarks/memory.py translate --work WORK -m MODEL --megabytes 1 10 100

Pairs are generated: two of 20,000 random phrases each, the same in every run. `train` prepares them
and trains a small Transformer for a few updates. `translate` translates files of different lines;
with --full N, all but N of 1,000 lines consist of 1,000 spaces, which the model does not read, so
that a large file takes little time. Memory is sampled every 0.1 s over the process and its
children: resident memory, which includes the mapped pages of files, and the part of it that no file
backs.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy

ROOT = Path(__file__).resolve().parents[1]
LAUNCH = "from attncli.app import main; main()"  # what the `attn` script does
WORDS, PHRASES, LETTERS = 5000, 20_000, "abdefgiklmnoprstu"
BLANK = " " * 1000
CHUNK = 100_000  # lines generated at a time
MEGABYTE = 10**6
SETTINGS = {"train.steps": 3, "train.batch_tokens": 2048, "tokenizer.size": 2000}
TRAIN = ("--preset", "transformer-nano", "--threads", "1", "--quiet")


class Peak(NamedTuple):
    """Highest memory of a process and its children together, in megabytes."""

    resident: float
    anonymous: float


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=("train", "translate"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--pairs", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--full", type=int, default=1000, help="lines with words of 1,000")
    parser.add_argument("-m", "--model", type=Path)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if given.part == "train":
        dev = given.work / "dev.tsv"
        write_pairs(dev, 100, seed=2)
        for count in given.pairs:
            train(given.work, count, dev)
    else:
        for size in given.megabytes:
            translate(given.work, size, given.model.resolve(), given.full)


def train(work: Path, count: int, dev: Path) -> None:
    """Generate pairs, train on them, and print size, time and peak memory."""
    text, run = work / f"{count}.tsv", work / f"run-{count}"
    if not text.exists():
        write_pairs(text, count, seed=1)
    shutil.rmtree(run, ignore_errors=True)
    arguments = ["train", str(text), "--dev", str(dev), "-o", str(run), *TRAIN]
    for name, value in SETTINGS.items():
        arguments += ["--set", f"{name}={value}"]
    seconds, peak = run_measured(arguments)
    report(f"train {count:,} pairs", text, seconds, peak)


def translate(work: Path, size: int, model: Path, full: int) -> None:
    """Generate a file of so many megabytes, translate it, and print time and peak memory."""
    text, output = work / f"{size}mb-{full}.txt", work / "output.txt"
    if not text.exists():
        write_lines(text, size * MEGABYTE, full)
    arguments = ["translate", "-m", str(model), "-i", str(text), "-o", str(output)]
    seconds, peak = run_measured([*arguments, "--threads", "1"])
    report(f"translate {size:,} MB, {full} of 1,000 lines with words", text, seconds, peak)


def report(what: str, text: Path, seconds: float, peak: Peak) -> None:
    """Print a row of results."""
    print(
        f"{what} ({text.stat().st_size / MEGABYTE:,.1f} MB): {seconds:,.1f} s of processor time, "
        f"peak {peak.resident:,.0f} MB resident, {peak.anonymous:,.0f} MB anonymous",
        flush=True,
    )


def write_pairs(path: Path, count: int, *, seed: int) -> None:
    """Write generated pairs as a table; a target has the phrases of its source in reverse."""
    with path.open("w", encoding="utf-8") as file:
        ours, theirs = phrases("o"), phrases("e")
        for first, second in numbers(count, seed):
            rows = zip(first, second, strict=True)
            file.writelines(f"{ours[i]} {ours[j]}\t{theirs[j]} {theirs[i]}\n" for i, j in rows)


def write_lines(path: Path, size: int, full: int) -> None:
    """Write generated lines up to a size; of each 1,000 so many have words, the others spaces."""
    written, known = 0, phrases("o")
    with path.open("w", encoding="utf-8") as file:
        for first, second in numbers(size, seed=3):
            for number, (i, j) in enumerate(zip(first, second, strict=True)):
                text = f"{known[i]} {known[j]}" if number % 1000 < full else BLANK
                written += file.write(text + "\n")
                if written >= size:
                    return


def phrases(ending: str) -> list[str]:
    """Return random phrases of 1 to 3 words, the same but for the ending of each word."""
    rng = random.Random(1)
    words = ["".join(rng.choices(LETTERS, k=rng.randint(2, 7))) + ending for _ in range(WORDS)]
    return [" ".join(rng.choices(words, k=rng.randint(1, 3))) for _ in range(PHRASES)]


def numbers(count: int, seed: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the numbers of the two phrases of random sentences, at most CHUNK at a time."""
    rng = numpy.random.default_rng(seed)
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        yield tuple(rng.integers(0, PHRASES, (2, size)).tolist())


def run_measured(arguments: Sequence[str]) -> tuple[float, Peak]:
    """Run `attn`; return its processor time and peak memory. Raises if it fails."""
    process = subprocess.Popen([sys.executable, "-c", LAUNCH, *arguments], cwd=ROOT)
    peak, used = Peak(0, 0), None
    while used is None:
        time.sleep(0.1)
        now = [memory_of(one) for one in family(process.pid)]
        peak = Peak(*(max(a, sum(b)) for a, b in zip(peak, zip(*now, strict=True), strict=False)))
        found, status, resources = os.wait4(process.pid, os.WNOHANG)
        used = resources if found else None
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit status {process.returncode} of attn {' '.join(arguments)}")
    highest = max(peak.resident, used.ru_maxrss * 1024 / MEGABYTE)
    return used.ru_utime + used.ru_stime, peak._replace(resident=highest)


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [pid]
    for one in found:
        try:
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            continue  # it has just ended
    return found


def memory_of(pid: int) -> Peak:
    """Return resident and anonymous memory of a process, in megabytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return Peak(0, 0)
    fields = dict(line.split(":", 1) for line in lines)
    sizes = (fields.get(name, "0 kB").split()[0] for name in ("VmRSS", "RssAnon"))
    return Peak(*(int(size) * 1024 / MEGABYTE for size in sizes))


if __name__ == "__main__":
    main()
