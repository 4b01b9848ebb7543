"""Print processor time of a training in 1, 2 and 4 processes.

    python benchmarks/processes.py --preset transformer-nano

It trains on the embedded data. Processor seconds per update are the difference between a long and a
short run, all processes together, so that start and evaluation do not count.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence

import torch
import torch.distributed as dist

from attncli.jobs import train as _job  # noqa: F401  # imported once, before the processes fork
from attncli.render.rows import columns
from attncli.shell import app

SHORT = 10  # updates of the run that is subtracted


COUNTS = (1, 2, 4)


def main() -> None:
    """Train in every way and print a table."""
    torch.set_num_threads(1)  # threads do not survive a fork
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--preset", default="transformer-nano", help="what is trained")
    parser.add_argument("--updates", type=int, default=100, help="of the longer runs")
    parser.add_argument("-s", dest="settings", action="append", default=[], help="a setting")
    given = parser.parse_args()
    common = ["-p", given.preset, *(word for value in given.settings for word in ("-s", value))]
    rows = [["processes", "processor seconds per update"]]
    for count in COUNTS:
        short, long = (train(count, common, updates) for updates in (SHORT, given.updates))
        rows.append([str(count), f"{(long - short) / (given.updates - SHORT):.3f}"])
    print(columns(rows), end="")


def train(processes: int, options: Sequence[str], updates: int) -> float:
    """Train for some updates in forks of this process; return their processor seconds."""
    fixed = [f"train.steps={updates}", "train.epochs=0", "train.metric=loss", "train.average=0"]
    fixed += [f"train.evaluate_every={updates}", "train.precision=fp32", "train.samples=0"]
    words = [word for value in fixed for word in ("-s", value)]
    with tempfile.TemporaryDirectory() as folder:
        place = ["train", "-o", folder, "--device", "cpu", "--threads", "1", "--quiet"]
        return run([*place, *words, *options], processes)


def run(arguments: list[str], processes: int) -> float:
    """Run attn in some processes; return the processor seconds of all of them."""
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # type: ignore[attr-defined]
    children = [fork(arguments, number, processes, store.port) for number in range(processes)]
    seconds = 0.0
    for child in children:
        _, status, used = os.wait4(child, 0)
        if status:
            raise SystemExit("a process failed")
        seconds += used.ru_utime + used.ru_stime
    return seconds


def fork(arguments: list[str], number: int, processes: int, port: int) -> int:
    """Run attn in a fork of this process, with the environment of torchrun; return its id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        names = {"RANK": number, "WORLD_SIZE": processes, "LOCAL_RANK": number, "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in names.items()})
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_USE_AGENT_STORE": "True"}
        status = app.run(arguments)
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
