"""The process of ``attn serve``: signals, sockets, errors at the start; names and keys."""

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

from attncli.serve._access import Hosts, Keys, Origins
from attncli.serve._options import ServeOptions
from models.core.errors import ModelError
from tests.attncli.command_line import Attn

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


pytest.importorskip("starlette")


@pytest.mark.parametrize(
    "options, host, allowed",
    [
        ({}, "127.0.0.1:5055", True),
        ({}, "localhost", True),
        ({}, "LOCALHOST:80", True),
        ({}, "[::1]:5055", True),
        ({}, "attn.localhost:5055", True),
        ({}, "evil.example", False),
        ({}, "127.0.0.1.evil.example", False),
        ({}, "192.168.1.5:5055", False),
        ({}, "", False),
        ({}, "127.0.0.1:5601@evil.example", False),
        ({}, "[::1].evil", False),
        ({}, "127.0.0.1:80:80", False),
        ({"host": "0.0.0.0"}, "192.168.1.5:5055", True),
        ({"host": "0.0.0.0"}, "evil.example", False),
        ({"allow_hosts": ("attn.example",)}, "attn.example:443", True),
        ({"allow_hosts": ("*",)}, "evil.example", True),
        ({"socket": "s"}, "attn.example", True),
    ],
)
def test_only_names_of_the_service_are_allowed(
    options: dict[str, object], host: str, allowed: bool
) -> None:
    assert Hosts(ServeOptions(**options)).allows(host) is allowed  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "allowed, headers, granted",
    [
        ((), {}, ""),
        ((), {"origin": "http://localhost:5055"}, "http://localhost:5055"),
        ((), {"origin": "http://localhost:8000"}, None),
        ((), {"origin": "null"}, None),
        ((), {"origin": "https://localhost:5055.evil.example"}, None),
        (
            (),
            {"origin": "https://proxy.example", "sec-fetch-site": "same-origin"},
            "https://proxy.example",
        ),
        ((), {"origin": "chrome-extension://abc"}, "chrome-extension://abc"),
        ((), {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, None),
        ((), {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, ""),
        (("https://a.example",), {"origin": "https://a.example"}, "https://a.example"),
        (("https://a.example",), {"origin": "https://b.example"}, None),
        (("*",), {"origin": "null"}, "*"),
    ],
)
def test_pages_of_other_sites_need_permission(
    allowed: tuple[str, ...], headers: dict[str, str], granted: str | None
) -> None:
    given = {"host": "localhost:5055", **headers}
    assert Origins(ServeOptions(allow_origins=allowed)).granted(given) == granted


def test_a_file_without_keys_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("# none\n")
    for path in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(ModelError):
            Keys(path)


def test_other_machines_get_an_address_and_a_warning_without_keys(attn: Attn) -> None:
    from attncli.serve._process import lines_about_others

    assert not lines_about_others(ServeOptions())
    address, warning = lines_about_others(ServeOptions(host="0.0.0.0", port=5))
    assert address.endswith(":5") and "0.0.0.0" not in address and "--new-key" in warning
    keys = attn("serve", "--new-key").out + attn("serve", "--new-key").out
    assert len(set(keys.split())) == 2 and min(map(len, keys.split())) > 30
    assert len(lines_about_others(ServeOptions(host="0.0.0.0", api_keys=Path("k")))) == 1
