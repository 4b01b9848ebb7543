"""Peak memory of `attn train` on millions of pairs, and of `attn translate` on growing files.

    python benchmarks/memory.py train --work WORK --pairs 100000 1000000 10000000
    python benchmarks/memory.py train --work WORK --pairs 100000000 --short --parts 4 \\
        --step 100000000
    python benchmarks/memory.py read --work WORK --pairs 100000000
    python benchmarks/memory.py translate --work WORK -m MODEL --megabytes 1 10 100

Pairs are generated: two of 20,000 random phrases each, the same in every run. `train` prepares them
and trains a small Transformer for a few updates. `translate` translates files of different lines;
with --full N, all but N of 1,000 lines consist of 1,000 spaces, which the model does not read, so
that a large file takes little time. With --short, a side is two words, so that 100 million pairs
take less time. With --parts N, the corpus is N links to one file. With --step N, the batches of the
first N pairs of an epoch are then read, without a model, as training reads them. `read` does the
same with a whole epoch of prepared pairs of 2 to 8 random tokens on each side. Memory is sampled
every 0.1 s over the process and its children: resident memory, which includes the mapped pages of
files, and the part of it that no file backs.
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
LAUNCH = "from attncli.shell.app import main; main()"  # what the `attn` script does
READ = "import sys; from benchmarks.memory import read_batches; read_batches(*sys.argv[1:])"
WORDS, PHRASES, LETTERS = 5000, 20_000, "abdefgiklmnoprstu"
BLANK = " " * 1000
CHUNK = 100_000  # lines generated at a time
MEGABYTE = MILLION = 10**6
FIRST_TOKEN = 4  # lower ids are marks
SETTINGS = {"train.steps": 3, "train.batch_tokens": 2048, "tokenizer.size": 2000}
SHORT = {
    **SETTINGS,
    "tokenizer.size": 6000,
    "tokenizer.joint": "false",
    "tokenizer.sample": 100_000,
    "train.precision": "fp32",
}
TRAIN = ("--preset", "transformer-nano", "--quiet")


class Peak(NamedTuple):
    """Highest memory of a process and its children together, in megabytes."""

    resident: float
    anonymous: float


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=("train", "read", "translate"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--pairs", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--short", action="store_true", help="two words on each side")
    parser.add_argument("--threads", type=int, default=1, help="of `train`")
    parser.add_argument("--parts", type=int, default=1, help="files of a corpus, all the same")
    parser.add_argument("--step", type=int, default=0, help="pairs whose batches are read")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--full", type=int, default=1000, help="lines with words of 1,000")
    parser.add_argument("-m", "--model", type=Path)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    dev = given.work / "dev.tsv"
    write_pairs(dev, 100, seed=2)
    if given.part == "train":
        for count in given.pairs:
            train(given.work, count, dev, given)
            if given.step:
                step(given.work, count, given.step)
    elif given.part == "read":
        for count in given.pairs:
            prepare(given.work, count, dev)
            step(given.work, count, count)
    else:
        for size in given.megabytes:
            translate(given.work, size, given.model.resolve(), given.full)


def train(work: Path, count: int, dev: Path, given: argparse.Namespace) -> None:
    """Generate pairs, train on them, and print size, time and peak memory."""
    each = count // given.parts
    text, run = work / f"{each}.tsv", work / f"run-{count}"
    if not text.exists():
        write_pairs(text, each, seed=1, short=given.short)
    corpus = str(text)
    if given.parts > 1:
        corpus = str(work / f"{count}-*.tsv")
        for number in range(given.parts):
            link = work / f"{count}-{number}.tsv"
            link.unlink(missing_ok=True)
            link.symlink_to(text.resolve())
    shutil.rmtree(run, ignore_errors=True)
    arguments = ["train", corpus, "--dev", str(dev), "-o", str(run), *TRAIN]
    arguments += ["--threads", str(given.threads)]
    for name, value in (SHORT if given.short else SETTINGS).items():
        arguments += ["--set", f"{name}={value}"]
    seconds, peak = run_measured([LAUNCH, *arguments])
    report(f"train {count:,} pairs", text.stat().st_size * given.parts, seconds, peak)


def prepare(work: Path, count: int, dev: Path) -> None:
    """Train on a few pairs, and replace the prepared corpus of the run by a large one."""
    from attncli.data.text.token_writing import SideWriter, TokenRows
    from models.storage.digests import write_digests

    run = work / f"run-{count}"
    shutil.rmtree(run, ignore_errors=True)
    arguments = ["train", str(dev), "--dev", str(dev), "-o", str(run), *TRAIN]
    run_measured([LAUNCH, *arguments, "-s", "train.steps=1", "-s", "tokenizer.size=400"])
    rng = numpy.random.default_rng(1)
    for side in ("source", "target"):
        writer = SideWriter(run / "data", side, numpy.dtype("<u2"))
        for start in range(0, count, MILLION):
            lengths = rng.integers(2, 9, min(MILLION, count - start))
            ids = rng.integers(FIRST_TOKEN, 400, lengths.sum(), numpy.uint32)
            writer.add_rows(TokenRows(ids, lengths))
        writer.close()
    write_digests(run / "data")


def step(work: Path, count: int, pairs: int) -> None:
    """Read batches of a prepared corpus; print time and peak memory."""
    seconds, peak = run_measured([READ, str(work / f"run-{count}"), str(pairs)])
    sizes = sum(file.stat().st_size for file in (work / f"run-{count}" / "data").iterdir())
    report(f"read batches of {pairs:,} of {count:,} pairs", sizes, seconds, peak)


def read_batches(folder: str, pairs: str) -> None:
    """Read the batches of so many pairs of the first epoch of a run, and check their number."""
    import torch

    from attncli.data.batching import gather
    from attncli.training.sources import training_source
    from attncli.training.storage.folder import RunFolder, read_config
    from attncli.training.updates.epoch import batches_of

    torch.set_num_threads(1)
    config = read_config(RunFolder(Path(folder)))
    source = training_source(config.model.family)
    data = source.load(config, Path(folder), lambda label, done, total: None)
    examples = data.prepared.examples.at(0)
    plan, seen = batches_of(examples, config.train), 0
    for number in range(len(plan)):
        batch = gather(examples, plan[number], torch.device("cpu"))
        seen += len(batch.source)
        if seen >= int(pairs):
            return
    if seen != examples.count:
        raise RuntimeError(f"{seen} pairs in the batches of an epoch, {examples.count} expected")


def translate(work: Path, size: int, model: Path, full: int) -> None:
    """Generate a file of so many megabytes, translate it, and print time and peak memory."""
    text, output = work / f"{size}mb-{full}.txt", work / "output.txt"
    if not text.exists():
        write_lines(text, size * MEGABYTE, full)
    arguments = ["translate", "-m", str(model), "-i", str(text), "-o", str(output)]
    seconds, peak = run_measured([LAUNCH, *arguments, "--threads", "1"])
    report(
        f"translate {size:,} MB, {full} of 1,000 lines with words",
        text.stat().st_size,
        seconds,
        peak,
    )


def report(what: str, size: int, seconds: float, peak: Peak) -> None:
    """Print a row of results."""
    print(
        f"{what} ({size / MEGABYTE:,.1f} MB): {seconds:,.1f} s of processor time, "
        f"peak {peak.resident:,.0f} MB resident, {peak.anonymous:,.0f} MB anonymous",
        flush=True,
    )


def write_pairs(path: Path, count: int, *, seed: int, short: bool = False) -> None:
    """Write generated pairs as a table; a target has the phrases of its source in reverse."""
    ours, theirs = (words if short else phrases)("o"), (words if short else phrases)("e")
    parts = [[f"{one}{end}" for one in side] for side in (ours, theirs) for end in " \t\n"]
    first_o, last_o, _, first_e, _, last_e = parts
    with path.open("w", encoding="utf-8") as file:
        for first, second in numbers(count, seed, len(ours)):
            rows = zip(first, second, strict=True)
            lines = [first_o[i] + last_o[j] + first_e[j] + last_e[i] for i, j in rows]
            file.write("".join(lines))


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


def words(ending: str) -> list[str]:
    """Return random words, the same but for their ending."""
    rng = random.Random(1)
    return ["".join(rng.choices(LETTERS, k=rng.randint(2, 7))) + ending for _ in range(WORDS)]


def phrases(ending: str) -> list[str]:
    """Return random phrases of 1 to 3 words, the same but for the ending of each word."""
    rng = random.Random(1)
    known = ["".join(rng.choices(LETTERS, k=rng.randint(2, 7))) + ending for _ in range(WORDS)]
    return [" ".join(rng.choices(known, k=rng.randint(1, 3))) for _ in range(PHRASES)]


def numbers(count: int, seed: int, most: int = PHRASES) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the numbers, below `most`, of the two phrases of random sentences, CHUNK at a time."""
    rng = numpy.random.default_rng(seed)
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        yield tuple(rng.integers(0, most, (2, size)).tolist())


def run_measured(arguments: Sequence[str]) -> tuple[float, Peak]:
    """Run Python code with arguments; return its processor time and peak memory.

    Raises RuntimeError if it fails.
    """
    process = subprocess.Popen([sys.executable, "-c", *arguments], cwd=ROOT)
    peak, used = Peak(0, 0), None
    while used is None:
        time.sleep(0.1)
        now = [memory_of(one) for one in family(process.pid)]
        peak = Peak(*(max(a, sum(b)) for a, b in zip(peak, zip(*now, strict=True), strict=False)))
        found, status, resources = os.wait4(process.pid, os.WNOHANG)
        used = resources if found else None
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit status {process.returncode} of {' '.join(arguments[1:])}")
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
