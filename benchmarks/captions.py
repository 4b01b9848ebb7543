"""Time of `attn caption` in several versions, and of importing torch and the weights.

    git worktree add /tmp/before da1faa0
    python benchmarks/captions.py PHOTOS --version before=/tmp/before --version now=. --rounds 3

    python benchmarks/captions.py PHOTOS --version before=/tmp/before --version now=. \
        --models photos photos-hard --views 2

Alternates, in each round: every version on the folder of photos, every version on one photo from a
cold start, every version by part (see caption_parts.py; the first model), and a Python process that
imports torch and reads the same weights. Prints medians of processor seconds and of wall seconds,
which mean something on a quiet machine only, and compares the captions with those of the first
version.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from caption_parts import Times
from processor_time import Measured, measure

ROOT = Path(__file__).resolve().parents[1]
PARTS = ROOT / "benchmarks/caption_parts.py"
BOX = Path("models/pretrained")
LAUNCH = "from attncli.shell.app import main; main()"  # what the `attn` script does
READ = "import sys, torch; from safetensors.torch import load_file; load_file(sys.argv[1])"


def run_python(version: Path, *arguments: str) -> Measured:
    """Run Python with a version of the program."""
    environment = os.environ | {"PYTHONPATH": str(version)}
    return measure([sys.executable, *arguments], environment, folder=version)


def options_of(given: argparse.Namespace) -> list[str]:
    """Return the options of `attn caption` and of caption_parts.py."""
    views = ["--views", str(given.views)] if given.views else []
    return [*views, "--threads", str(given.threads)]


def caption(version: Path, given: argparse.Namespace, *images: str) -> Measured:
    """Run `attn caption` of a version of the program."""
    models = [part for name in given.models for part in ("-m", str(version / BOX / name))]
    return run_python(version, "-c", LAUNCH, "caption", *models, *options_of(given), *images)


def parts(version: Path, given: argparse.Namespace, photos: Path) -> Times:
    """Return the time of each part of captioning in a version, for the first model."""
    model = str(version / BOX / given.models[0])
    run = run_python(version, str(PARTS), str(photos), model, *options_of(given))
    return Times(**json.loads(run.output))


def commands(
    versions: Mapping[str, Path], given: argparse.Namespace
) -> Iterator[tuple[str, Measured]]:
    """Run every command once; yield their names and results."""
    folder = given.photos.resolve()
    photos = sorted(map(str, folder.iterdir()))
    for name, path in versions.items():
        yield f"{len(photos)} photos, {name}", caption(path, given, "-r", str(folder))
    for name, path in versions.items():
        yield f"one photo, {name}", caption(path, given, photos[0])
    weights = str(ROOT / BOX / given.models[0] / "model.safetensors")
    yield "torch and the weights", measure([sys.executable, "-c", READ, weights])


def median_times(rounds: list[Times]) -> str:
    """Return medians: seconds, and the share of each part."""
    totals = [one.decoding + one.network + one.search for one in rounds]
    shares = {
        field: statistics.median(
            getattr(one, field) / total for one, total in zip(rounds, totals, strict=True)
        )
        for field in ("decoding", "network", "search")
    }
    occupied = statistics.median(one.occupied / one.wall for one in rounds)
    return (
        f"{statistics.median(totals):.2f} s of processor time: decoding {shares['decoding']:.0%}, "
        f"image network {shares['network']:.0%}, search {shares['search']:.0%}; "
        f"{statistics.median(one.wall for one in rounds):.2f} s of wall time: "
        f"image network {occupied:.0%}"
    )


def compare_captions(outputs: Mapping[str, bytes]) -> None:
    """Print how many captions of each command equal those of the first."""
    first = next(iter(outputs.values())).splitlines()
    for name, output in outputs.items():
        equal = sum(a == b for a, b in zip(first, output.splitlines(), strict=True))
        print(f"captions of {name} equal to the first version's: {equal} of {len(first)}")


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("photos", type=Path, help="folder of photos only")
    parser.add_argument("--version", action="append", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--models", nargs="+", default=["photos"], help="names of shipped models")
    parser.add_argument("--views", type=int, help="the default is each model's own number")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    os.environ["OMP_WAIT_POLICY"] = "passive"  # threads that wait for each other take no time
    items = [item.partition("=") for item in given.version]
    versions = {name: Path(path).resolve() for name, _, path in items}
    found: dict[str, list[Measured]] = {}
    times: dict[str, list[Times]] = {name: [] for name in versions}
    for number in range(1, given.rounds + 1):
        for name, result in commands(versions, given):
            found.setdefault(name, []).append(result)
            print(f"{number} {name}: {result.seconds:.2f} s, wall {result.wall:.2f} s", flush=True)
        for name, path in versions.items():
            times[name].append(parts(path, given, given.photos.resolve()))
    for name, results in found.items():
        seconds = statistics.median(result.seconds for result in results)
        wall = statistics.median(result.wall for result in results)
        print(f"{name}: {seconds:.2f} s of processor time, {wall:.2f} s of wall time")
    for name, rounds in times.items():
        print(f"{name}, after the start: {median_times(rounds)}")
    compare_captions({name: found[name][-1].output for name in list(found)[: len(versions)]})


if __name__ == "__main__":
    main()
