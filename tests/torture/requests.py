"""Hostile requests to a running service: every answer is 4xx or right, and the service stays."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Any

from tests.attncli.command_line import flags
from tests.torture.mutate import mutate
from tests.torture.worker import Result

PATHS = (
    *("/translate", "/detect", "/classify", "/align", "/caption", "/translate_file"),
    *("/v1/audio/transcriptions", "/languages", "/download_file/x/y", "/page/../../etc/passwd"),
)
VALID = {"q": "Hello.", "source": "en", "target": "de", "translation": "Hallo."}
VALUES: tuple[Any, ...] = (
    None, 5, -1, 1e308, True, "", [], {}, [[]], ["a", 1], "x" * 5000, "\ud800", "\0", "<script>",
    "../../etc/passwd", "zz", "auto", "html", "💥" * 50, {"a": [1]}, "9" * 5000, "<b>" * 300,
)  # fmt: skip
NAMES = (*VALID, "format", "alternatives", "api_key", "model", "heads", "stream", "nbest")
NAMES_OF_FILES = ('"; rm -rf /.srt', "<script>alert(1)</script>.html", "../../x.csv", "\u202ex.po")
SECONDS = 60.0  # in which every request must be answered
GROWTH = 1 << 30  # bytes by which the service may grow; freed memory is kept for later batches
TOGETHER = 8  # clients
LIMITS = ("service.max_body=4", "service.max_text=2000", "service.max_pixels=4")
OPTIONS = ("--threads", "1", *flags(LIMITS))


def hostile_requests(folder: Path, random: Random, count: int) -> Iterator[Result]:
    """Send requests of every kind to a service; yield what was answered wrongly."""
    with served(folder / "service.log") as (port, process):
        check_alive(port)
        rng = Random(1)  # every model is loaded before its memory is measured
        _answered(port, _images(rng))
        for path in ("/detect", "/classify", "/align"):
            _answered(port, request(path, json.dumps(VALID).encode()))
        before = memory(process)
        for name, send in KINDS.items():
            result = Result(f"service, {name}")
            share = max(1, count // (100 if name in RARE else len(KINDS) - len(RARE)))
            seeds = [random.randrange(2**32) for _ in range(share)]
            with ThreadPoolExecutor(TOGETHER) as threads:
                faults = threads.map(lambda seed, send=send: _fault(send, port, seed), seeds)
            for seed, fault in zip(seeds, faults, strict=True):
                result.add(f"seed {seed}", fault)
            result.add("the next request", check_alive(port), 0)
            result.peak = memory(process)
            if result.peak - before > GROWTH:
                result.add("memory", f"{(result.peak - before) >> 20} MiB more", 0)
            yield result
        log = (folder / "service.log").read_text("utf-8", "replace")
        result = Result("service, its messages", 1)
        if "Traceback" in log or "internal error" in log:
            result.add("stderr", log[-2000:], 0)
        yield result


@contextmanager
def served(log: Path) -> Iterator[tuple[int, int]]:
    """Start a service; yield its port and process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [sys.executable, "-m", "attncli", "serve", "--no-browser", "--port", str(port)]
    with log.open("wb") as file:
        process = subprocess.Popen([*command, *OPTIONS], stderr=file)
    try:
        until = time.monotonic() + 60
        while check_alive(port, "/health") and time.monotonic() < until:
            time.sleep(0.2)
        yield port, process.pid
    finally:
        process.kill()
        process.wait()


def check_alive(port: int, path: str = "") -> str:
    """Return why the service does not translate; "" if it does."""
    try:
        connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        if path:
            connection.request("GET", path)
        else:
            connection.request("POST", "/translate", json.dumps(VALID))
        answer = connection.getresponse()
        return "" if answer.status == 200 and answer.read() else f"status {answer.status}"
    except OSError as error:
        return str(error)


def memory(process: int) -> int:
    """Return the resident memory of a process in bytes."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096


def _fault(send: Callable[[int, Random], str], port: int, seed: int) -> str:
    try:
        return send(port, Random(seed))
    except TimeoutError:
        return "no answer in time"
    except OSError:  # the service closed the connection, as it may to such clients
        return ""


def _answered(port: int, content: bytes, seconds: float = SECONDS) -> str:
    """Send bytes; return what is wrong with the answer.

    seconds: to wait for it; less than SECONDS for what may be no request, which has no answer.
    """
    answer = b""
    with socket.create_connection(("127.0.0.1", port), seconds) as client:
        client.sendall(content)
        try:
            while block := client.recv(1 << 16):
                answer += block
        except TimeoutError:
            if seconds == SECONDS:
                raise
    status = answer[9:12].decode("latin-1")
    return "" if not answer or status[:1] in "24" else f"status {status}: {answer[-300:]!r}"


def request(path: str, body: bytes, kind: str = "application/json") -> bytes:
    """Return the bytes of a request."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _wrong_values(random: Random) -> bytes:
    values: dict[str, Any] = dict(VALID)
    for _ in range(random.randrange(1, 4)):
        values[random.choice(NAMES)] = random.choice(VALUES)
    return request(random.choice(PATHS), json.dumps(values).encode())


def _broken_bodies(random: Random) -> bytes:
    body = mutate(json.dumps(VALID).encode(), random)
    kinds = ("application/json", "multipart/form-data; boundary=x", "text/plain", "image/png")
    return request(random.choice(PATHS), body, random.choice(kinds))


def _deep_bodies(random: Random) -> bytes:
    sign = random.choice(("[", '{"q":', '[{"q":'))
    return request("/translate", sign.encode() * random.randrange(500, 90_000))


def _files(random: Random) -> bytes:
    name = random.choice(NAMES_OF_FILES)
    text = mutate(b"<p>Hello <b>you</b></p>\n1\n00:00 --> 00:01\nHello\n", random)
    fields = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n'
        for k, v in (("source", "en"), ("target", "de"), ("column", "1"))
    )
    head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = fields.encode() + head.encode() + text + b"\r\n--x--\r\n"
    return request("/translate_file", body, "multipart/form-data; boundary=x")


def _images(random: Random) -> bytes:
    """Return a PNG of a wrong size in its head, or a damaged one."""
    width, height = random.choice(((60_000, 60_000), (1, 2_000_000), (0, 0), (8, 8)))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(random.choice((100, 3_000_000))))
    content = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", rows)
    content += _chunk(b"IEND", b"")
    if random.random() < 0.5:
        content = mutate(content, random)
    return request("/caption", content, "image/png")


def _chunk(name: bytes, content: bytes) -> bytes:
    sum_of = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + sum_of


def _gone_clients(port: int, random: Random) -> str:
    """Leave before or during the answer."""
    content = request("/translate", json.dumps({**VALID, "q": ["Hello."] * 40}).encode())
    with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
        client.sendall(content[: random.choice((len(content), random.randrange(len(content))))])
        time.sleep(random.random() * 0.05)
    return ""


def _slow_clients(port: int, random: Random) -> str:
    """Send a byte at a time, and then leave."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
        for byte in request("/translate", b"{}")[: random.randrange(30)]:
            client.sendall(bytes([byte]))
            time.sleep(0.02)
    return ""


def _sent(made: Callable[[Random], bytes]) -> Callable[[int, Random], str]:
    return lambda port, random: _answered(port, made(random))


KINDS: dict[str, Callable[[int, Random], str]] = {
    "wrong values": _sent(_wrong_values),
    "broken bodies": _sent(_broken_bodies),
    "broken heads": lambda port, random: _answered(
        port, mutate(_wrong_values(random), random), 0.5
    ),
    "deep bodies": _sent(_deep_bodies),
    "files": _sent(_files),
    "images": _sent(_images),
    "clients that leave": _gone_clients,
    "slow clients": _slow_clients,
}
RARE = ("files", "slow clients")  # take long
