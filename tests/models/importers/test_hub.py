"""The Hugging Face hub, as a stand-in server on loopback speaks its protocol."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("huggingface_hub")

from huggingface_hub import constants

from models.core.errors import ModelError
from models.importers.hub import fetch, is_hub_name

SHA = "a" * 40
FILES = {
    "config.json": b'{"model_type": "marian"}',
    "README.md": b"---\nlicense: cc-by-4.0\n---\n",
    "vocab.json": b"{}",
    "source.spm": b"spm",
    "model.safetensors": bytes(range(256)) * 400,
    "pytorch_model.bin": b"not needed",
    "tf_model.h5": b"not needed",
}


class Hub(NamedTuple):
    """A server, and what it is told to do wrong."""

    url: str
    asked: list[str]  # files that were downloaded
    faults: dict[str, Any]


class Handler(BaseHTTPRequestHandler):
    """The part of the hub's protocol that a download needs."""

    def __init__(self, hub: Hub, *given: Any) -> None:
        self.hub = hub
        super().__init__(*given)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""

    def do_HEAD(self) -> None:
        """Answer with the headers of a file."""
        self.do_GET()

    def do_GET(self) -> None:
        """Answer with the list of files, or with a file."""
        path, faults = self.path.partition("?")[0], self.hub.faults
        if "error" in faults:
            return self._answer(faults["status"], b"", {"X-Error-Code": faults["error"]})
        if path.startswith("/api/models/"):
            return self._answer(200, json.dumps(self._listed()).encode(), {})
        found = re.fullmatch(r"/o/m/resolve/[^/]+/(.*)", path)
        assert found and found[1] in FILES, path
        name, content = found[1], FILES[found[1]]
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": SHA}
        if self.command == "HEAD":
            return self._answer(200, content, headers)
        self.hub.asked.append(name)
        start = int((re.search(r"bytes=(\d+)-", self.headers.get("Range") or "") or [0, 0])[1])
        if name == faults.get("cut"):
            faults.pop("cut")
            return self._answer(200, content, headers, send=content[:50_000])
        if name == faults.get("changed"):
            return self._answer(200, content, headers, send=content[::-1])
        faults["resumed"] = faults.get("resumed", 0) or start
        self._answer(206 if start else 200, content[start:], headers)

    def _listed(self) -> dict[str, Any]:
        siblings = []
        for name, content in FILES.items():
            found: dict[str, Any] = {"rfilename": name, "size": len(content)}
            if name in ("model.safetensors", "pytorch_model.bin"):
                digest = hashlib.sha256(content).hexdigest()
                found["lfs"] = {"sha256": digest, "size": len(content), "pointerSize": 1}
            if name not in self.hub.faults.get("missing", ()):
                siblings.append(found)
        return {"id": "o/m", "sha": SHA, "siblings": siblings, "tags": [], "private": False}

    def _answer(
        self, status: int, content: bytes, headers: dict[str, str], send: bytes | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content if send is None else send)
            if send is not None and len(send) < len(content):
                self.close_connection = True


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    found = Hub("", [], {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, found))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 10_000)
    yield found
    server.shutdown()
    server.server_close()


def test_only_the_needed_files_are_fetched_once_and_used_without_network(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fetch("o/m")
    assert {path.name for path in folder.iterdir()} == {*FILES} - {
        "pytorch_model.bin",
        "tf_model.h5",
    }
    assert all((folder / path.name).read_bytes() == FILES[path.name] for path in folder.iterdir())
    asked = len(hub.asked)
    assert fetch("o/m") == folder and len(hub.asked) == asked
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert fetch("o/m") == folder


def test_an_interrupted_download_is_resumed(hub: Hub) -> None:
    hub.faults["cut"] = "model.safetensors"
    try:
        folder = fetch("o/m")
    except ModelError:
        folder = fetch("o/m")
    assert hub.faults["resumed"] > 0
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ({"changed": "model.safetensors"}, "differs from its digest"),
        ({"missing": ("model.safetensors", "pytorch_model.bin")}, "no weights"),
        ({"error": "GatedRepo", "status": 403}, "gated.*HF_TOKEN"),
        ({"error": "RepoNotFound", "status": 404}, "no model o/m"),
        ({"error": "RevisionNotFound", "status": 404}, "no model o/m at revision v9"),
    ],
)
def test_a_fault_is_one_line_and_leaves_no_damaged_file(
    hub: Hub, faults: dict[str, Any], said: str
) -> None:
    hub.faults.update(faults)
    with pytest.raises(ModelError, match=said) as found:
        fetch("o/m", "v9" if faults.get("error") == "RevisionNotFound" else "")
    assert "\n" not in str(found.value)
    hub.faults.clear()
    assert (fetch("o/m") / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_without_network_a_line_says_how_to_carry_the_files(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match="copy a folder with config.json") as found:
        fetch("o/other")
    assert "\n" not in str(found.value)


def test_a_name_of_the_hub_is_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_hub_name("o/m") and not is_hub_name("m") and not is_hub_name("./o/m")
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "m").mkdir()
    assert not is_hub_name("o/m")
