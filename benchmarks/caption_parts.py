"""Time of the parts of captioning: decoding of files, image network, search.

    PYTHONPATH=VERSION python benchmarks/caption_parts.py PHOTOS MODEL --threads 2

Prints one line of JSON with the fields of `Times`; `captions.py` runs it for several versions.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

BATCH = 32  # photos, as in `attn caption`


class Times(NamedTuple):
    """Seconds of captioning a folder of photos, after the start."""

    decoding: float  # of the processor, before the rest
    network: float  # of the processor, in the image network
    search: float  # of the processor, in all other work: search and preparation of views
    wall: float  # of all but decoding, by the clock on the wall
    occupied: float  # of that, in the image network; mean over the threads of torch


class Timed:
    """Function that measures its calls; several threads may call it at once."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        self.function = function
        self.calls: list[tuple[float, float]] = []  # processor seconds, threads x wall seconds

    def __call__(self, pixels: Tensor) -> Tensor:
        """Call the function and note its time."""
        import torch

        threads = torch.get_num_threads()  # of the calling thread
        clock = time.thread_time if threads == 1 else time.process_time
        begun, wall = clock(), time.perf_counter()
        result = self.function(pixels)
        self.calls.append((clock() - begun, threads * (time.perf_counter() - wall)))
        return result


def measure(folder: Path, model: Path, threads: int, views: int | None) -> Times:
    """Caption the photos of a folder with the version of the program that is imported."""
    import torch

    from attncli.jobs.loading import retain_memory
    from models import load_captioner
    from models.images.opening import open_image

    torch.set_num_threads(threads)
    retain_memory()  # as `attn caption` does
    captioner = load_captioner(model)
    config = replace(captioner.search, views=views or captioner.search.views)
    size, files = captioner.image_size, sorted(folder.iterdir())
    begun = time.process_time()
    images = [captioner.reduced(open_image(file, least=size)) for file in files]
    decoding = time.process_time() - begun
    network = Timed(captioner.encoder.features)
    captioner.encoder.features = network  # type: ignore[assignment, method-assign]
    groups = [images[start : start + BATCH] for start in range(0, len(images), BATCH)]
    begun, wall = time.process_time(), time.perf_counter()
    list(captioner.batches(groups, search=config))
    total, wall = time.process_time() - begun, time.perf_counter() - wall
    processor, occupied = map(sum, zip(*network.calls, strict=True))
    return Times(decoding, processor, total - processor, wall, occupied / threads)


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("photos", type=Path, help="folder of photos only")
    parser.add_argument("model", type=Path, help="folder of a captioner")
    parser.add_argument("--views", type=int, help="the default is the model's own number")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    times = measure(given.photos, given.model, given.threads, given.views)
    print(json.dumps(times._asdict()))


if __name__ == "__main__":
    main()
