"""Compare the outputs of doors and tiny trainings with those that outputs.tsv keeps.

python -m tests.frozen [CASE...]        compare; a case is the beginning of a name
python -m tests.frozen --write          keep what they give now, after a change that is meant
python -m tests.frozen --texts FOLDER   also store the outputs, to compare two versions by diff

Words must be equal and figures agree in a tolerance. Equal bits are counted: on the machine that
wrote the file all are equal, because every case computes with one thread.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # sums of one order, on any number of cores

import torch

from tests.frozen.doors import DOORS, write_inputs
from tests.frozen.measured import Measured, measured, read_expected, write_expected
from tests.frozen.trainings import TRAININGS

CASES = (*DOORS, *(f"train {name}" for name in TRAININGS))
# seconds, sentences a second, and the progress, which a fast command does not show
TIMES = re.compile(r"[^\n]* \d+ %[^\n]*\n|\"\w*seconds\": [\d.e-]+,?|\"\w*per_second\": [\d.e-]+,?")


def measure(name: str, folder: Path) -> tuple[Measured, str]:
    """Return what a case gives, measured, and as text."""
    torch.manual_seed(1)
    write_inputs(folder)
    bits = b""
    if name in DOORS:
        text = DOORS[name](folder)
    else:
        text, bits = TRAININGS[name.removeprefix("train ")](folder)
    text = TIMES.sub("", text.replace(str(folder), "FOLDER").replace(os.getcwd(), "ROOT"))
    return measured(text, bits), text


def compare(names: list[str], texts: Path | None) -> tuple[dict[str, Measured], int]:
    """Print the cases that differ; return what was found, and how many differ."""
    expected, found, equal, wrong = read_expected(), {}, 0, 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found[name], text = measure(name, Path(folder))
        if texts:
            (texts / f"{name.replace(' ', '_')}.txt").write_text(text, "utf-8")
        before = expected.get(name)
        equal += before is not None and before.bits == found[name].bits
        if before is None or not before.agrees(found[name]):
            wrong += 1
            print(f"{name}: {before and before[:3]}, now {found[name][:3]}")
    print(f"{len(names)} cases, {wrong} differ; equal in every bit: {equal}")
    return found, wrong


def main() -> int:
    """Compare, or write; return 1 if an output differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--texts", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    names = [name for name in CASES if name.startswith(tuple(given.cases) or "")]
    if given.texts:
        given.texts.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        found, wrong = compare(names, given.texts)
    if given.write:
        write_expected({**read_expected(), **found})
    return wrong and not given.write


if __name__ == "__main__":
    sys.exit(main())
