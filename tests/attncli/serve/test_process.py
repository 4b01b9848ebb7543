"""The process of ``attn serve``: signals, sockets, errors at the start."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")


@contextmanager
def served(*options: str, url: str, transport: Any = None) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "attncli", "serve", "--no-browser", "--threads", "1", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until and process.poll() is None:
            try:
                with httpx.Client(transport=transport) as client:
                    client.get(f"{url}/health")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def test_sigterm_under_load_loses_no_accepted_request() -> None:
    port = free_port()
    head = {"Content-Type": "application/json"}
    connections = [HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(64)]
    with served("--port", str(port), url=f"http://127.0.0.1:{port}") as process:
        for number, connection in enumerate(connections):
            given = {"q": f"I have {number} old cars.", "source": "en", "target": "de"}
            connection.request("POST", "/translate", json.dumps(given), head)
        process.send_signal(signal.SIGTERM)
        answers = [connection.getresponse() for connection in connections]
        assert [answer.status for answer in answers] == [200] * len(connections)
        assert all(json.load(answer)["translatedText"] for answer in answers)
        assert process.wait(30) == -signal.SIGTERM
        assert process.stderr and "Traceback" not in process.stderr.read()


def test_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "attn.sock"
    transport = httpx.HTTPTransport(uds=str(path))
    option, url = f"service.socket={path}", "http://attn.example"
    with (
        served("-s", option, url=url, transport=transport) as process,
        httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client,
    ):
        answer = client.get(f"{url}/health")
        assert answer.json() == {"status": "ok"}
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert not path.exists()


def test_a_port_in_use_and_a_captioner_are_refused_in_one_line() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        for options, message in (
            (["--port", str(other.getsockname()[1])], "Address already in use"),
            (["-m", "photos"], "expected a translator"),
        ):
            command = [sys.executable, "-m", "attncli", "serve", "--no-browser", *options]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert done.returncode == 1 and message in done.stderr
            assert done.stderr.count("\n") == 1
