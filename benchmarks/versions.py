"""Processor seconds of two versions of attn, alternating: a line, a file, photos, a training.

    git worktree add /tmp/before TAG
    python benchmarks/versions.py /tmp/before . --lines FILE --photos FOLDER --rounds 5

Prints the median of user and system time of each version on one thread, and their ratio.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

ALONE = {
    **os.environ,
    "PYTHONPATH": "",
    "OMP_NUM_THREADS": "1",
}  # the tree is the folder it runs in


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("now", type=Path)
    parser.add_argument("--lines", type=Path, required=True, help="English lines")
    parser.add_argument("--photos", type=Path, required=True, help="a folder")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    run, to_german = (
        Path("runs/versions").resolve(),
        ["translate", "-q", "--from", "en", "--to", "de"],
    )
    jobs = {
        "one line": [*to_german, "The dog sleeps."],
        "lines": [*to_german, "-i", str(options.lines.resolve())],
        "photos": ["caption", "-q", "-r", str(options.photos.resolve())],
        "demo training": ["train", "-q", "-o", str(run)],
    }
    for name, words in jobs.items():
        times: dict[Path, list[float]] = {options.before: [], options.now: []}
        for _ in range(options.rounds):
            for tree, found in times.items():
                shutil.rmtree(run, ignore_errors=True)
                command = [sys.executable, "-m", "attncli", *words, "--threads", "1"]
                start = os.times()
                subprocess.run(command, cwd=tree, env=ALONE, check=True, capture_output=True)
                found.append(sum(os.times()[2:4]) - sum(start[2:4]))
        before, now = map(median, times.values())
        print(f"{name:<14} {before:8.2f} s {now:8.2f} s   {now / before:.2f}", flush=True)


if __name__ == "__main__":
    main()
