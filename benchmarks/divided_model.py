"""Print the memory of each process of a training, with and without `--shard-model`.

    python benchmarks/divided_model.py --preset transformer-base -s train.batch_tokens=512

It trains on the embedded data for a few updates in 1, 2 and 4 processes. Bytes are counted in the
tensors that a process stores during an update, before the gradients are freed; those that are
gathered for a short time are not among them. The peak is the resident memory of the largest process
during the last updates, in which they are.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import torch
from processes import train
from torch import Tensor

from attncli.render.columns import columns
from attncli.training.storage.state import State
from attncli.training.updates.stepper import Stepper

UPDATES = 4
MEGABYTE = 10**6
PROCESS = Path("/proc/self")


class ProcessBytes(NamedTuple):
    """Bytes of one process."""

    weights: int
    gradients: int
    optimiser: int
    peak: int


def main() -> None:
    """Train with each number of processes and print a table."""
    torch.set_num_threads(1)  # threads do not survive a fork
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-p", "--preset", default="transformer-small", help="what is trained")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("-s", dest="settings", action="append", default=[], help="a setting")
    given = parser.parse_args()
    common = ["-p", given.preset, *(word for value in given.settings for word in ("-s", value))]
    rows = [["MB per process", "weights", "gradients", "optimiser", "together", "peak"]]
    for count in given.processes:
        for option in ([], ["--shard-model"]) if count > 1 else ([],):
            largest = measured(count, [*common, *option])
            sizes = [*largest[:3], sum(largest[:3]), largest.peak]
            name = " ".join([f"{count} process{'es' * (count > 1)}", *option])
            rows.append([name, *(f"{size / MEGABYTE:,.1f}" for size in sizes)])
    print(columns(rows), end="")


def measured(processes: int, options: list[str]) -> ProcessBytes:
    """Train in some processes; return the largest numbers of any of them."""
    apply = Stepper.apply
    with tempfile.TemporaryDirectory() as name:
        Stepper.apply = noted(Path(name))  # type: ignore[method-assign, assignment]
        try:
            train(processes, options, UPDATES)
        finally:
            Stepper.apply = apply  # type: ignore[method-assign]
        found = [json.loads(file.read_text()) for file in Path(name).iterdir()]
    if len(found) != processes:
        raise SystemExit("a process did not train")
    return ProcessBytes(*map(max, zip(*found, strict=True)))


def noted(folder: Path) -> Callable[[Stepper, float], float]:
    """Return `Stepper.apply` that writes the memory of this process to a file."""
    apply = Stepper.apply

    def applied(stepper: Stepper, rate: float) -> float:
        state = stepper.state
        gradients = stored(p.grad for p in stepper.parameters if p.grad is not None)
        norm = apply(stepper, rate)
        if state.counters.step <= 2:
            (PROCESS / "clear_refs").write_text("5")  # the peak is that from here on
        weights = stored(state.model.parameters())
        sizes = ProcessBytes(weights, gradients, stored(moments(state)), peak())
        (folder / str(os.getpid())).write_text(json.dumps(sizes))
        return norm

    return applied


def moments(state: State) -> Iterable[Tensor]:
    """Yield the tensors of the optimiser's state."""
    return (tensor for each in state.optimiser.state.values() for tensor in each.values())


def stored(tensors: Iterable[Tensor]) -> int:
    """Return the bytes that this process stores of some tensors."""
    from torch.distributed.tensor import DTensor

    parts = (t.to_local() if isinstance(t, DTensor) else t for t in tensors)
    return sum(part.numel() * part.element_size() for part in parts)


def peak() -> int:
    """Return the highest resident memory of this process since it was reset, in bytes."""
    fields = dict(line.split(":", 1) for line in (PROCESS / "status").read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) * 1024


if __name__ == "__main__":
    main()
