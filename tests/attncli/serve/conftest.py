"""A running service with the models in the box."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from attncli.serve import _process as process
from attncli.serve._app import application
from attncli.serve._options import ServeOptions
from attncli.serve._service import Service
from models.storage.installed import BOX, is_bundle

Start = Callable[..., str]
SPEECH = "tones"  # the model of speech


@pytest.fixture(scope="session", autouse=True)
def box() -> None:
    if not is_bundle(BOX / "everyday"):
        pytest.skip("the models are not in the box")


@contextmanager
def running(options: ServeOptions) -> Iterator[str]:
    """Run a service in a thread at a free port; yield its address."""
    service = Service(options)
    listening = process._listening(options)
    port = listening.getsockname()[1]
    server = process.Server(process._config(application(service), options), service)
    thread = threading.Thread(target=server.run, args=[[listening]], daemon=True)
    thread.start()
    until = time.monotonic() + 10
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
        service.close()


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Address of a service with the default options."""
    with running(ServeOptions(port=0, threads=1)) as address:
        yield address


@pytest.fixture(scope="module")
def wav() -> bytes:
    """Return a recording of tones, which stand for words."""
    pytest.importorskip("soundfile")
    from attncli.transcribe import tones

    return tones.split(1, 1, 0, seed=1).train[0].wav


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Return the address of a service that offers a model of speech, and the model's folder."""
    pytest.importorskip("soundfile")
    from tests.attncli.transcribe.conftest import save_random, tokenizer_of_tones

    folder = tmp_path_factory.mktemp("models")
    (folder / SPEECH).mkdir()
    save_random("listen-attend-spell-nano", tokenizer_of_tones(), folder / SPEECH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTN_MODELS", str(folder))
        with running(ServeOptions(port=0, threads=1)) as address:
            yield address, folder / SPEECH


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts a service with other options."""
    with ExitStack() as stack:

        def begin(**options: object) -> str:
            given = {"port": 0, "threads": 1, **options}
            return stack.enter_context(running(ServeOptions(**given)))  # type: ignore[arg-type]

        yield begin


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Return a file of API keys."""
    path = tmp_path / "keys.txt"
    path.write_text("# people\nsecret-1\n\nsecret-2\n")
    return path
