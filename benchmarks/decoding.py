"""Speed of decoding in two revisions of this program, alternating in one run.

    git worktree add /tmp/before da1faa0
    python benchmarks/decoding.py --before /tmp/before --bundles runs/tiny runs/rnn \
        --input test_2016_flickr.en --rounds 3

Every round translates the lines of `--input` with each bundle, in a process of its own for each
revision: opened as `attn translate --engine torch` opens it, one thread, beam 5, batches of 64
sentences on average. Prints the median of the processor seconds (user and system) from lines to
lines once the model is loaded, that of the whole process, the number of texts that differ between
the revisions, and the largest difference of a score.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve()
BATCH = 64  # sentences, on average


class Run(NamedTuple):
    """Result of one process."""

    seconds: float  # of the processor, once the model is loaded
    whole: float  # of the processor, from the start of the process to its end
    texts: list[str]
    scores: list[float]


def translate(tree: Path, bundle: Path, source: Path, search: str) -> dict[str, Any]:
    """Translate a file by the program in a tree; called in a process of its own."""
    sys.path.insert(0, str(tree))
    from attncli.jobs.loading import OpenOptions, open_translator

    translator = open_translator(bundle, OpenOptions(device="cpu", threads=1))
    texts = source.read_text(encoding="utf-8").rstrip("\n").split("\n")
    mean = sum(map(translator.source_length, texts)) / len(texts)
    settings = translator.search.__class__(**json.loads(search))
    before = time.process_time()
    found = translator.translate(texts, search=settings, max_batch_tokens=round(BATCH * mean))
    seconds = time.process_time() - before
    scores = [one.hypotheses[0].score for one in found]
    return {"seconds": seconds, "texts": [one.text for one in found], "scores": scores}


def run(tree: Path, bundle: Path, source: Path, search: str) -> Run:
    """Translate in a process of its own."""
    worker = [sys.executable, str(HERE), "--worker", str(tree), "--bundles", str(bundle)]
    command = [*worker, "--input", str(source), "--search", search]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(tree)}
    before = children_seconds()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return Run(**json.loads(done.stdout.splitlines()[-1]), whole=children_seconds() - before)


def children_seconds() -> float:
    """Return the processor seconds, user and system, of the child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def compared(bundle: Path, before: list[Run], after: list[Run]) -> str:
    """Return a row of the table."""
    cells = [
        faster([one.seconds for one in before], [one.seconds for one in after]),
        faster([one.whole for one in before], [one.whole for one in after]),
    ]
    old, new = before[-1], after[-1]
    differ = sum(a != b for a, b in zip(old.texts, new.texts, strict=True))
    pairs = zip(old.texts, new.texts, old.scores, new.scores, strict=True)
    most = max((abs(a - b) for x, y, a, b in pairs if x == y), default=0.0)
    return f"| {bundle.name} | {' | '.join(cells)} | {differ} of {len(new.texts)} | {most:.1e} |"


def faster(before: list[float], after: list[float]) -> str:
    """Return the cells of two medians and their ratio."""
    old, new = statistics.median(before), statistics.median(after)
    return f"{old:.2f} | {new:.2f} | {old / new:.2f}"


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--before", type=Path, help="working tree of the other revision")
    parser.add_argument("--bundles", type=Path, nargs="+", required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--search", default='{"beam": 5}', help="settings of the search, as JSON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        [bundle] = given.bundles
        print(json.dumps(translate(given.worker, bundle, given.input, given.search)))
        return
    columns = "before, s | after, s | ratio | whole, before | after | ratio"
    print(f"| median of {given.rounds} | {columns} | texts differ | scores by |")
    print("|---" + 8 * "|---:" + "|")
    for bundle in given.bundles:
        sides: tuple[list[Run], list[Run]] = [], []
        for _ in range(given.rounds):
            for tree, side in zip((given.before, HERE.parents[1]), sides, strict=True):
                side.append(run(tree.resolve(), bundle.resolve(), given.input, given.search))
        print(compared(bundle, *sides), flush=True)


if __name__ == "__main__":
    main()
