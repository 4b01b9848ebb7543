"""Measure `attn serve`: throughput and latency, memory, overhead of a request.

    python benchmarks/serve.py --requests 10000
    python benchmarks/serve.py --mixed 60

With --mixed, 200 clients send texts for some seconds, ten of them lines of 25 kB or 2,000 sentences
with 20 alternatives; the table has the short texts. Then SIGTERM is sent while large ones wait.
A service is started on the loopback address with the models in the box. The client is a few threads
of this program with one connection each; nothing else is reached.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import cycle, islice
from threading import Thread
from typing import NamedTuple

SENTENCES = (
    "The train to Paris leaves at eight.",
    "I would like a cup of coffee.",
    "Where is the station?",
    "My sister bought a new car yesterday.",
    "It is raining.",
    "Do you know when the shop opens tomorrow?",
)


class Load(NamedTuple):
    """Figures of one run."""

    clients: int
    seconds: float
    times: list[float]  # of each request
    lost: int

    @property
    def row(self) -> str:
        """Return the figures as a line of a table."""
        times = sorted(self.times)
        rate, last = len(times) / self.seconds, times[int(0.99 * (len(times) - 1))]
        median = statistics.median(times)
        return (
            f"| {self.clients} | {rate:.1f} | {1e3 * median:.0f} | {1e3 * last:.0f} | {self.lost} |"
        )


@contextmanager
def service() -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Start a service; yield its port and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [sys.executable, "-m", "attncli", "serve", "--no-browser", "--port", str(port)]
    process = subprocess.Popen(command)
    try:
        while True:
            try:
                get(port, "/health")
                break
            except OSError:
                time.sleep(0.1)
        yield port, process
    finally:
        process.terminate()
        process.wait()


def get(port: int, path: str) -> bytes:
    """Return the answer to a GET request."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    content = connection.getresponse().read()
    connection.close()
    return content


def run(port: int, clients: int, requests: int, texts: Sequence[str] = SENTENCES) -> Load:
    """Send requests by some clients, each after the answer to its last one."""
    shares = [requests // clients] * clients
    started = time.monotonic()
    with ThreadPoolExecutor(clients) as threads:
        found = list(threads.map(lambda n: client(port, n, shares[n], texts), range(clients)))
    seconds = time.monotonic() - started
    times = [one for times, _ in found for one in times]
    return Load(clients, seconds, times, sum(lost for _, lost in found))


def client(port: int, number: int, requests: int, given: Sequence[str]) -> tuple[list[float], int]:
    """Return the time of each request, and the number of those without the right answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    texts = islice(cycle(given), number, number + requests)
    times, lost = [], 0
    for text in texts:
        body = json.dumps({"q": text, "source": "en", "target": "de"})
        started = time.monotonic()
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        times.append(time.monotonic() - started)
        lost += answer.status != 200 or not json.loads(content)["translatedText"]
    connection.close()
    return times, lost


LARGE = (  # requests that take minutes
    {"q": "The big dog sees the small cat in the garden. " * 550},
    {"q": "The big dog sees the small cat in the garden. " * 2000, "alternatives": 20},
)


def mixed(port: int, process: subprocess.Popen[bytes], seconds: float, clients: int) -> None:
    """Print the times of short texts beside large ones, then how long SIGTERM takes."""
    run(port, 4, 20)
    before, until = memory(process.pid), time.monotonic() + seconds
    found: list[tuple[int, float]] = []

    def send(number: int) -> None:
        while time.monotonic() < until:
            text = {"q": f"The house number {number} is {time.monotonic():.3f} years old."}
            given = LARGE[number % 2] if number < 10 else text
            started = time.monotonic()
            status = post(port, {**given, "source": "en", "target": "de"})
            if number >= 10:
                found.append((status, time.monotonic() - started))

    threads = [Thread(target=send, args=(number,), daemon=True) for number in range(clients)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    for thread in threads[10:]:
        thread.join()
    times = sorted(took for _, took in found)
    refused, last = sum(status != 200 for status, _ in found), times[int(0.99 * (len(times) - 1))]
    print(f"{len(found)} short texts of {clients - 10} clients: {refused} refused, ", end="")
    print(f"median {statistics.median(times):.2f} s, 99 % {last:.2f} s, worst {times[-1]:.2f} s")
    print(f"memory: {before:.0f} MiB before, {memory(process.pid):.0f} MiB after")
    started = time.monotonic()
    process.terminate()
    process.wait()
    print(f"SIGTERM with large texts at work: {time.monotonic() - started:.1f} s")


def post(port: int, given: Mapping[str, object]) -> int:
    """Return the status of the answer to a request for a translation; 0 without an answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        head = {"Content-Type": "application/json"}
        connection.request("POST", "/translate", json.dumps(given), head)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except OSError:
        return 0
    finally:
        connection.close()


def model_seconds(port: int) -> float:
    """Return the seconds in which the service's models have computed."""
    found = re.findall(
        r"^attn_model_seconds_total\{.*\} (\S+)$", get(port, "/metrics").decode(), re.M
    )
    return sum(map(float, found))


def processor_seconds(process: int) -> float:
    """Return the processor time of a process in seconds (Linux)."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> float:
    """Return the resident memory of a process in MiB (Linux)."""
    with open(f"/proc/{process}/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1000, help="of each row with clients")
    parser.add_argument("--mixed", type=float, default=0, help="seconds beside large texts")
    parser.add_argument("--clients", type=int, default=200, help="with --mixed")
    options = parser.parse_args()
    if options.mixed:
        with service() as (port, begun):
            return mixed(port, begun, options.mixed, options.clients)
    with service() as (port, begun):
        process = begun.pid
        run(port, 4, 200)  # the model is loaded
        before = memory(process)
        print("| clients | requests/s | median ms | 99 % ms | lost |\n|---:|---:|---:|---:|---:|")
        computed = model_seconds(port)
        one = run(port, 1, min(options.requests, 300))
        overhead = (sum(one.times) - (model_seconds(port) - computed)) / len(one.times)
        print(one.row, flush=True)
        for clients in (8, 64):
            load = run(port, clients, options.requests)
            print(load.row, flush=True)
        ratio = len(load.times) / load.seconds / (len(one.times) / one.seconds)
        print(f"\nthroughput of 64 clients over one: {ratio:.1f}")
        after = memory(process)
        total = 200 + len(one.times) + 2 * options.requests
        print(f"memory: {before:.0f} MiB after 200 requests, {after:.0f} MiB after {total:,}")
        cost = processor_seconds(process)
        run(port, 1, 500, ("1234",))  # a number is copied: no model computes
        cost = (processor_seconds(process) - cost) / 500
    print(f"a request takes {1e3 * overhead:.1f} ms more than the model alone")
    print(f"processor time of a request whose text is copied: {1e3 * cost:.2f} ms")


if __name__ == "__main__":
    main()
