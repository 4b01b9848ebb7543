"""Processor time of `attn caption` in several versions, and of importing torch and the weights.

    git worktree add /tmp/before da1faa0
    python benchmarks/captions.py PHOTOS --version before=/tmp/before --version now=. --rounds 3

    python benchmarks/captions.py PHOTOS --version before=/tmp/before --version now=. \
        --models photos photos-hard --views 2

Alternates, in each round: every version on the folder of photos, every version on one photo from a
cold start, and a Python process that imports torch and reads the same weights. Prints medians of
processor seconds and compares the captions with those of the first version. Then it measures the
part of the image network in this version, for the first model.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from processor_time import Measured, measure

if TYPE_CHECKING:
    from torch import Tensor

ROOT = Path(__file__).resolve().parents[1]
BOX = Path("models/pretrained")
LAUNCH = "from attncli.app import main; main()"  # what the `attn` script does
READ = "import sys, torch; from safetensors.torch import load_file; load_file(sys.argv[1])"


def caption(version: Path, options: list[str], *images: str) -> Measured:
    """Run `attn caption` of a version of the program."""
    arguments = ["caption", *options, *images]
    environment = os.environ | {"PYTHONPATH": str(version)}
    return measure([sys.executable, "-c", LAUNCH, *arguments], environment, folder=version)


def options_of(version: Path, given: argparse.Namespace) -> list[str]:
    """Return the options of `attn caption` for a version."""
    models = [part for name in given.models for part in ("-m", str(version / BOX / name))]
    views = ["--views", str(given.views)] if given.views else []
    return [*models, *views, "--threads", str(given.threads)]


def shares(folder: Path, model: Path, given: argparse.Namespace) -> dict[str, float]:
    """Return processor seconds of this version by part: decoding, image network, search.

    The search includes the preparation of the further views.
    """
    import torch

    from attncli.jobs.loading import retain_memory
    from models import load_captioner
    from models.images import open_image

    torch.set_num_threads(given.threads)
    retain_memory()  # as `attn caption` does
    captioner = load_captioner(model)
    config = replace(captioner.search, views=given.views or captioner.search.views)
    size, files = captioner.image_size, sorted(folder.iterdir())
    clock = time.process_time()
    images = [captioner.reduced(open_image(file, least=size)) for file in files]
    decoding = time.process_time() - clock
    network = Timed(captioner.encoder.features)
    captioner.encoder.features = network  # type: ignore[assignment, method-assign]
    clock = time.process_time()
    groups = [images[start : start + 32] for start in range(0, len(images), 32)]
    list(captioner.batches(groups, search=config))
    search = time.process_time() - clock - network.seconds
    return {"decoding": decoding, "image network": network.seconds, "search": search}


class Timed:
    """Function that measures the processor time of its calls."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, pixels: Tensor) -> Tensor:
        """Call the function and add the time."""
        clock = time.process_time()
        result = self.function(pixels)
        self.seconds += time.process_time() - clock
        return result


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
    folder, model = given.photos.resolve(), ROOT / BOX / given.models[0]
    versions = {}
    for item in given.version:
        name, _, path = item.partition("=")
        versions[name] = Path(path).resolve()
    photos = sorted(map(str, folder.iterdir()))
    found: dict[str, list[float]] = {}
    captions: dict[str, bytes] = {}
    for number in range(1, given.rounds + 1):
        row: dict[str, Measured] = {}
        for name, path in versions.items():
            options = options_of(path, given)
            row[f"{len(photos)} photos, {name}"] = caption(path, options, "-r", str(folder))
            captions[name] = row[f"{len(photos)} photos, {name}"].output
        for name, path in versions.items():
            row[f"one photo, {name}"] = caption(path, options_of(path, given), photos[0])
        weights = str(model / "model.safetensors")
        row["torch and the weights"] = measure([sys.executable, "-c", READ, weights])
        for name, result in row.items():
            found.setdefault(name, []).append(result.seconds)
        print(number, {name: round(result.seconds, 2) for name, result in row.items()}, flush=True)
    for name, values in found.items():
        print(f"{name}: {statistics.median(values):.2f} s of processor time")
    first = next(iter(captions.values())).splitlines()
    for name, output in captions.items():
        equal = sum(a == b for a, b in zip(first, output.splitlines(), strict=True))
        print(f"captions of {name} equal to the first version's: {equal} of {len(first)}")
    parts = shares(folder, model, given)
    for name, seconds in parts.items():
        print(f"{name}: {seconds:.2f} s, {seconds / sum(parts.values()):.0%}")


if __name__ == "__main__":
    main()
