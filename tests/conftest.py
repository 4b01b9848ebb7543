"""Fixtures shared by all tests: a tokenizer, a bundle and a translator, trained in seconds."""

from __future__ import annotations

import dataclasses
import fcntl
import gc
import io
import os
import random
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from attncli.caption.source import ImageTraining
from attncli.classify.source import LabelTraining
from attncli.terminal import console
from attncli.translate.source import TextTraining

os.environ.setdefault("OMP_NUM_THREADS", "1")  # for the programs that tests start, too
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each of them would compile all modules: 0.1 s

import numpy
import pytest
import torch
from PIL import Image

from attncli.data.embedded import Pair, generate
from attncli.render.plots import curves
from attncli.shell import app
from attncli.train import saving
from attncli.train.command_line import settings
from attncli.train.job import train as train_model
from models import load
from models.core.annexes import ANNEXES, entries
from models.core.types import Batch
from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines.translator import Translator
from models.networks.bundle import Bundle, build, save, sizes_of
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.losses import sequence_loss
from models.search.batching import pad
from models.storage.presets import model_config
from models.text.tokenizer import END, PAD, START, Tokenizer, train
from tests.attncli.command_line import Attn
from tests.attncli.labels import write_toy
from tests.attncli.training.small import Texts, write_texts
from tests.attncli.training.small_captions import Files, write_images

SEED_VARIABLE = "ATTN_TEST_SEED"
SEED = int(os.environ.get(SEED_VARIABLE, "1"))
OWN = Path(__file__).with_name("annex_tests.txt")
DRAWN = "attncli.compare.command.draw_comparison"
PAIRS = 240
PIECES = 1000
EPOCHS = 16
LONG = (  # files that take more than 10 seconds
    *("test_commands", "test_train_processes", "test_tutorials", "test_adding", "test_torture"),
    *("test_train", "test_pretended_gpu", "test_public_models", "test_whisper", "test_contract"),
    *("test_start", "test_train_captions", "test_rows", "test_pipe"),
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the long files, so that the test processes end at the same time.

    Tests of an annex without a row, as `annex_tests.txt` names them, are left out.
    """
    own = [row.split("\t") for row in OWN.read_text("utf-8").splitlines()]
    gone = [re.compile(pattern) for annex, pattern in own if annex not in ANNEXES]
    left = [item for item in items if any(pattern.search(item.nodeid) for pattern in gone)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    items.sort(key=lambda item: item.path.stem not in LONG)
    gc.freeze()  # each full collection would visit thousands of tests that stay to the end


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Small tensors gain nothing from threads, and tests may run side by side."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Take SIGINT back: a shell ignores it in background jobs, and so would programs of tests."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the user's models and cache out of the tests; matplotlib keeps its fonts there."""
    for name in ("ATTN_MODEL", "ATTN_MODELS", "FORCE_COLOR"):
        os.environ.pop(name, None)
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    os.environ.setdefault("MPLCONFIGDIR", str(Path(cache) / "matplotlib"))
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def few_held_out() -> None:
    """Hold 40 embedded examples out for dev and test instead of 500, which tiny runs score."""
    for source in (TextTraining, LabelTraining, ImageTraining):
        source.demo_sizes = (source.demo_sizes[0], 40, 40)


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write empty files instead of curves and comparisons, which take longer than small runs."""
    monkeypatch.setattr(saving, "curves", lambda path, history: path.touch())
    if "models compare" in entries("command"):
        monkeypatch.setattr(DRAWN, lambda path, rows: path.touch())


@pytest.fixture
def drawn(undrawn: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the curves of a run, and comparisons."""
    monkeypatch.setattr(saving, "curves", curves)
    if "models compare" in entries("command"):
        monkeypatch.setattr(DRAWN, resolve_name("attncli.compare._drawing:draw_comparison"))


@pytest.fixture(autouse=True)
def seeded(request: pytest.FixtureRequest) -> None:
    """Start every test from one seed, whatever ran before; a failure prints it."""
    random.seed(SEED)
    numpy.random.seed(SEED)
    torch.manual_seed(SEED)
    request.node.add_report_section("setup", "random seed", f"{SEED} ({SEED_VARIABLE} sets it)")


@pytest.fixture
def no_gradients() -> Iterator[None]:
    """Compute without gradients."""
    with torch.no_grad():
        yield


@pytest.fixture
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `attn bulk` process its shards itself, without Ray."""
    process = resolve_name("tests.attncli.bulk.in_process:process")
    monkeypatch.setattr("attncli.bulk._work.process", process)


@pytest.fixture
def attn(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Attn:
    """Return a function that runs `attn` with words, and returns what it wrote: `out` and `err`.

    status: exit status that the run must have. given: its stdin, if it reads that.
    """

    def run(*words: str | Path, status: int = 0, given: str | bytes | None = None) -> Any:
        capfd.readouterr()
        with monkeypatch.context() as context:
            if given is not None:
                content = given.encode() if isinstance(given, str) else given
                context.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
            assert app.run([*map(str, words)]) == status
        console.be_quiet(False)
        return capfd.readouterr()

    return run


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    """Return data for a short run."""
    return write_texts(tmp_path)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Images and captions of a minute run."""
    return write_images(tmp_path)


@pytest.fixture(scope="session")
def tiny_pairs() -> list[Pair]:
    """Sentence pairs of the grammar, English and German."""
    return list(generate(PAIRS))


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_pairs: list[Pair]) -> Tokenizer:
    """Return a joint tokenizer in which most words are one piece."""
    sources = [pair.source for pair in tiny_pairs]
    targets = [pair.target for pair in tiny_pairs]
    return train(sources, targets, PIECES, TokenizerConfig())


def shared(factory: pytest.TempPathFactory, name: str, write: Callable[[Path], object]) -> Path:
    """Return a folder that the first of the test processes writes, and the others read."""
    base = factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = base / name, base / f"{name}.done"
    with open(base / f"{name}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir(exist_ok=True)
            write(folder)
            done.touch()
    return folder


@pytest.fixture(scope="session")
def tiny_bundle(
    tiny_pairs: list[Pair], tiny_tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a bundle's folder: a small Transformer that has learned to end its sentences."""

    def write(folder: Path) -> None:
        nano = model_config("transformer-nano")
        config = dataclasses.replace(nano, encoder_layers=1, decoder_layers=1)
        with torch.random.fork_rng():
            torch.manual_seed(1)
            model = build(config, sizes_of(tiny_tokenizer, config.family))
            fit(model, tiny_tokenizer, tiny_pairs)
        save(Bundle(model, tiny_tokenizer, TokenizerConfig(), SearchConfig()), folder)

    return shared(tmp_path_factory, "tiny", write)


@pytest.fixture(scope="session")
def tiny_translator(tiny_bundle: Path) -> Translator:
    """Return the tiny bundle, loaded."""
    return load(tiny_bundle, "translate")


@pytest.fixture(scope="session")
def toy_classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run folder of a classifier that knows tests.attncli.labels."""

    def write(folder: Path) -> None:
        table = write_toy(folder / "train.tsv", 500)
        sizes = ["model.embedding=16", "model.hidden=16", "model.dropout=0", "tokenizer.size=330"]
        budget = ["train.epochs=12", "train.batch_tokens=300", "train.lr=0.02", "train.warmup=5"]
        config = settings(
            [],
            preset="bilstm-attention-nano",
            assignments=[*sizes, *budget, "train.precision=fp32", "train.patience=3"],
            inputs={"labels": table},
        )
        for _ in train_model(config, folder / "run", device="cpu", progress=lambda *progress: None):
            pass

    return shared(tmp_path_factory, "classifier", write) / "run"


@pytest.fixture(scope="session")
def soft_captioner(tiny_tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bundle's folder of a captioner with random weights, soft attention."""
    return captioner("show-attend-tell-soft-nano", tiny_tokenizer, tmp_path_factory.mktemp("soft"))


@pytest.fixture(scope="session")
def hard_captioner(tiny_tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bundle's folder of a captioner with random weights, hard attention."""
    return captioner("show-attend-tell-hard-nano", tiny_tokenizer, tmp_path_factory.mktemp("hard"))


def captioner(preset: str, tokenizer: Tokenizer, folder: Path) -> Path:
    """Save a captioner that has learned nothing, but that says something of every image."""
    config = dataclasses.replace(model_config(preset), embedding=16, hidden=16, readout=0)
    image = dataclasses.replace(config.image, encoder="small-cnn", weights="none", size=32)
    config = dataclasses.replace(config, image=image)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(1)
        model = build(config, sizes_of(tokenizer, config.family))
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
        model.output.bias[END] -= 2.0
    save(Bundle(model, tokenizer, TokenizerConfig(), SearchConfig(max_caption=12)), folder)
    return folder


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Return a folder of five images, of one kind and another."""
    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    random = numpy.random.default_rng(1)
    for n, name in enumerate(("a.png", "b.jpg", "c.webp", "d.gif", "more/e.png")):
        pixels = random.integers(0, 255, (40, 33 + n, 3), numpy.uint8)
        Image.fromarray(pixels).save(folder / name)
    return folder


def fit(model: EncoderDecoder, tokenizer: Tokenizer, pairs: list[Pair]) -> None:
    """Train a model in the plainest way there is: warm-up, then down to zero."""
    optimiser = torch.optim.Adam(model.parameters())
    plan = list(batches(tokenizer, pairs, size=12)) * EPOCHS
    for step, batch in enumerate(plan):
        for group in optimiser.param_groups:
            group["lr"] = 0.005 * min(1, (step + 1) / 30) * (1 - step / len(plan))
        found = sequence_loss(model.teacher_force(batch), batch, model.output)
        optimiser.zero_grad()
        (found.loss / len(found.nll)).backward()
        optimiser.step()


def batches(tokenizer: Tokenizer, pairs: list[Pair], *, size: int) -> Iterator[Batch]:
    """Return the pairs in their order, padded."""
    cpu = torch.device("cpu")
    for start in range(0, len(pairs), size):
        group = pairs[start : start + size]
        source, source_mask = pad([tokenizer.encode(pair.source) for pair in group], cpu)
        target, mask = pad([tokenizer.encode_target(pair.target) for pair in group], cpu)
        begun = torch.nn.functional.pad(target[:, :-1], (1, 0), value=START)
        assert PAD == 0  # what padding the masks stand for
        yield Batch(source, source_mask, begun, target, mask)
