"""`attn bulk` under random kills, and the processor seconds of each engine.

    python benchmarks/bulk.py LINES --task classify --engines local ray --kills 50
    python benchmarks/bulk.py LINES --task classify --engines local ray --costs

With --kills, SIGKILL hits a random worker, or once in five times the process that started the job,
at random times, until that many kills are done. A job that was killed, or that gave up with exit
status 1, is started again with the same command. A job that ends before all kills are done begins
again from nothing. The output must be equal, byte for byte, to that of one unbroken `attn TASK`.

With --costs, prints the processor seconds (user and system, of all processes) and the records per
processor second of `attn TASK` and of each engine with 1 and 2 processes. Needs Linux.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ATTN = [sys.executable, "-m", "attncli"]
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: orphans become children of this process
GAVE_UP = 1  # exit status of a job that ends with an error, and that the same command continues
LEFT_SECONDS = 20  # for the processes of a killed driver to end by themselves
DRIVER_SHARE = 0.2  # of the kills


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("lines", type=Path, help="a file of text")
    parser.add_argument("--task", default="classify", choices=("classify", "translate"))
    parser.add_argument("--model", default="languages")
    parser.add_argument("--options", default="", help="of attn TASK, such as '--to de'")
    parser.add_argument("--engines", nargs="+", default=["local"])
    parser.add_argument("--shard", type=int, default=2000, help="records; default 2000")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--mean", type=float, default=4.0, help="seconds between kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--costs", action="store_true")
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    given.lines = given.lines.resolve()
    records = given.lines.read_bytes().count(b"\n")
    words = ["-m", given.model, "--threads", "1", *given.options.split()]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        whole = folder / "whole"
        one = [*ATTN, given.task, *words, "-i", str(given.lines), "-o", str(whole), "-q"]
        print(f"{records:,} records, shards of {given.shard:,}, seed {given.seed}")
        print(row(f"attn {given.task}", records, cost(one)), flush=True)
        for engine in given.engines:
            end = ["--engine", engine, "--shard", str(given.shard), "-q"]
            bulk = [*ATTN, "bulk", str(given.lines), str(folder / "out"), *end]
            task = ["--", given.task, *words]
            if given.kills:
                print(campaign(engine, bulk, task, folder, given), flush=True)
            for count in given.processes if given.costs else ():
                forget(folder)
                name = f"{engine}, {count} process{'es' if count > 1 else ''}"
                seconds = cost([*bulk, "--processes", str(count), *task])
                print(row(name, records, seconds, same(folder)), flush=True)


def row(name: str, records: int, seconds: float, note: str = "") -> str:
    """Return a row of the table of costs."""
    return f"{name:<24}{seconds:>9.1f} s{records / seconds:>10.0f} records/s  {note}"


def cost(command: list[str]) -> float:
    """Run a command; return the processor seconds of all its processes.

    They are read every 0.1 s, also of processes that nobody waits for, as some of Ray's. What a
    process uses after its last reading is not counted.
    """
    seen: dict[tuple[int, str], float] = {}
    with subprocess.Popen(command, cwd=ROOT) as process:
        while process.poll() is None:
            read_times(seen)
            time.sleep(0.1)
    if process.returncode:
        raise RuntimeError(f"exit status {process.returncode} of {' '.join(command)}")
    while list(descendants(os.getpid())):  # what the command left behind, as Ray does for a moment
        read_times(seen)
        reap_ended()
        time.sleep(0.1)
    return sum(seen.values())


def read_times(seen: dict[tuple[int, str], float]) -> None:
    """Store the processor seconds of every descendant, by process and time of its start."""
    for pid in list(descendants(os.getpid())):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks = int(fields[11]) + int(fields[12])  # user and system
            seen[pid, fields[19]] = ticks / os.sysconf("SC_CLK_TCK")


def reap_ended() -> None:
    """Remove the children that have ended from the list of processes."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def same(folder: Path) -> str:
    """Compare the output with that of one process."""
    equal = (folder / "out").read_bytes() == (folder / "whole").read_bytes()
    return "equal" if equal else "DIFFERENT"


def forget(folder: Path) -> None:
    """Remove the output and the state of a job."""
    (folder / "out").unlink(missing_ok=True)
    shutil.rmtree(folder / "out.bulk", ignore_errors=True)


def campaign(
    engine: str, bulk: list[str], task: list[str], folder: Path, given: argparse.Namespace
) -> str:
    """Kill and continue a job until all kills are done and it ends; compare its output."""
    rng = random.Random(given.seed)
    command = [*bulk, "--processes", str(max(given.processes)), *task]
    workers = drivers = jobs = starts = given_up = 0
    outcomes = []
    while workers + drivers < given.kills:
        forget(folder)
        jobs += 1
        ended = False
        while not ended:
            driver = subprocess.Popen(command, cwd=ROOT)
            starts += 1
            while (ended := driver.poll() is not None) is False:
                time.sleep(rng.expovariate(1 / given.mean))
                if workers + drivers == given.kills:
                    driver.wait()
                elif rng.random() < DRIVER_SHARE:
                    driver.kill()
                    drivers += driver.wait() < 0
                    break
                else:
                    workers += kill_worker(driver.pid, rng)
            reap()
            if ended and driver.returncode == GAVE_UP:
                given_up += 1
                ended = False
        outcomes.append(f"status {driver.returncode}, {same(folder)}")
    kills = f"{workers} kills of workers, {drivers} of the driver"
    runs = f"{starts} starts, {given_up} given up, {jobs} jobs"
    return f"{engine}: {kills}; {runs}: {'; '.join(outcomes)}"


def kill_worker(driver: int, rng: random.Random) -> int:
    """Kill a random worker of a job; return 1, or 0 if there is none."""
    workers = [pid for pid in descendants(driver) if is_worker(pid)]
    if not workers:
        return 0
    with suppress(ProcessLookupError):
        os.kill(rng.choice(workers), signal.SIGKILL)
        return 1
    return 0


def is_worker(pid: int) -> bool:
    """Return True for a process that processes shards."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        return any(name in words for name in (b"local_worker.py", b"ray::AnsweringWorker"))
    return False


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process and its children started."""
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield int(child)
                yield from descendants(int(child))


def reap() -> None:
    """Wait for the processes that a killed driver left, and kill those that do not end.

    Ray's agents end when their parent is process 1, which it is not here.
    """
    end = time.monotonic() + LEFT_SECONDS
    while list(descendants(os.getpid())) and time.monotonic() < end:
        reap_ended()
        time.sleep(0.1)
    for pid in list(descendants(os.getpid())):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


if __name__ == "__main__":
    main()
