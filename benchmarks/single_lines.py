"""Speed of translating single lines with packed weights and without them, alternating in one run.

    python benchmarks/single_lines.py --bundle runs/rnnsearch-small --input LINES --rounds 12

Every round translates each of the first four lines in a search of its own, as a server does, by
torch on one thread with a beam of 5; the model is loaded once. Prints the processor milliseconds
per line (minimum and median of the rounds), and those of `packed_weights` alone.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from models import load_translator
from models.inference import translator as translators
from models.numerics.packed import packed_weights

LINES = 4


@contextlib.contextmanager
def unpacked(*modules: torch.nn.Module) -> Iterator[None]:
    """Do nothing, in place of `packed_weights`."""
    yield


def milliseconds(run: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    before = time.process_time()
    run()
    return (time.process_time() - before) * 1000


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=12)
    given = parser.parse_args()
    torch.set_num_threads(1)
    translator = load_translator(given.bundle)
    search = translator.search.__class__(beam=5)
    lines = given.input.read_text(encoding="utf-8").split("\n")[:LINES]

    def translate() -> None:
        for line in lines:
            translator.translate([line], search=search)

    translate()
    found: dict[str, list[float]] = {"packed": [], "as stored": []}
    for _ in range(given.rounds):
        for name, context in zip(found, (packed_weights, unpacked), strict=True):
            setattr(translators, "packed_weights", context)  # noqa: B010
            found[name].append(milliseconds(translate) / len(lines))
    for name, times in found.items():
        print(f"{name:10} {min(times):7.1f} {statistics.median(times):7.1f} ms per line")

    def pack_nothing() -> None:
        with torch.inference_mode(), packed_weights(translator.model):
            pass

    alone = min(milliseconds(pack_nothing) for _ in range(30))
    print(f"listing the layers once: {alone:.2f} ms")


if __name__ == "__main__":
    main()
