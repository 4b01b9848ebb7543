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
from pathlib import Path
from statistics import median


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("now", type=Path)
    parser.add_argument("--lines", type=Path, required=True, help="English lines")
    parser.add_argument("--photos", type=Path, required=True, help="a folder")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    run, to_german = Path("runs/versions"), ["translate", "-q", "--from", "en", "--to", "de"]
    jobs = {
        "one line": [*to_german, "The dog sleeps."],
        "lines": [*to_german, "-i", str(options.lines)],
        "photos": ["caption", "-q", "-r", str(options.photos)],
        "demo training": ["train", "-q", "-o", str(run)],
    }
    for name, words in jobs.items():
        times: dict[Path, list[float]] = {options.before: [], options.now: []}
        for _ in range(options.rounds):
            for tree, found in times.items():
                shutil.rmtree(run, ignore_errors=True)
                command = ["python", "-m", "attncli", *words, "--threads", "1"]
                paths = {**os.environ, "PYTHONPATH": str(tree.resolve()), "OMP_NUM_THREADS": "1"}
                start = os.times()
                subprocess.run(command, env=paths, check=True, capture_output=True)
                found.append(sum(os.times()[2:4]) - sum(start[2:4]))
        before, now = map(median, times.values())
        print(f"{name:<14} {before:8.2f} s {now:8.2f} s   {now / before:.2f}", flush=True)


if __name__ == "__main__":
    main()
