"""Time of `attn translate` for one sentence from a cold start, and of importing torch and weights.

    python benchmarks/cold_start.py --bundle runs/en-de --rounds 11

Alternates `echo sentence | attn translate -m BUNDLE` with a Python process that imports torch and
reads the same weights with safetensors. Prints each round, both medians and their difference.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SENTENCE = b"a man in a blue shirt is standing on a ladder .\n"
READ = "import sys, torch; from safetensors.torch import load_file; load_file(sys.argv[1])"
# what the `attn` script does
LAUNCH = "import sys; from attncli.shell.app import main; sys.exit(main())"


def seconds(command: list[str]) -> float:
    """Return the wall-clock time of a process that translates one sentence, in seconds."""
    started = time.perf_counter()
    subprocess.run(command, input=SENTENCE, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
    return time.perf_counter() - started


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=11)
    given = parser.parse_args()
    bundle = given.bundle.resolve()
    commands = {
        "attn translate": [sys.executable, "-c", LAUNCH, "translate", "-m", str(bundle)],
        "torch and the weights": [sys.executable, "-c", READ, str(bundle / "model.safetensors")],
    }
    found: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():  # once unmeasured, for the disk's cache
        seconds(command)
    for number in range(1, given.rounds + 1):
        for name, command in commands.items():
            found[name].append(seconds(command))
        times = ", ".join(f"{name} {times[-1]:.3f} s" for name, times in found.items())
        print(f"    round {number}  {times}", flush=True)
    medians = [statistics.median(times) for times in found.values()]
    print("\n| median of " + str(given.rounds) + " | s |\n|---|---:|")
    for name, median in zip(found, medians, strict=True):
        print(f"| {name} | {median:.3f} |")
    print(f"| difference | {medians[0] - medians[1]:.3f} |")


if __name__ == "__main__":
    main()
