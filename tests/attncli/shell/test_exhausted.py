"""Memory that is exhausted inside a task ends the command with one line and exit status 1."""

from __future__ import annotations

import importlib
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from PIL import Image

from attncli.transcribe import tones
from models.storage.installed import BOX, is_bundle
from tests.attncli.command_line import Attn, flags
from tests.attncli.training.small import SMALL

TRAINING = ("--preset", "rnnsearch-nano", *flags(SMALL))
DEVICE = ("--device", "cpu", "--threads", "1")
WORDS = {
    "translate": ("translate", "--to", "de", "I see a dog."),
    "torch": ("translate", "--to", "de", "-s", "compute.backend=torch", "I see a dog."),
    "evaluate": ("evaluate", "--to", "de", "pairs.tsv"),
    "align": ("align", "-m", "everyday", "--to", "de", "pairs.tsv"),
    "caption": ("caption", "image.png"),
    "evaluate captions": ("evaluate captions", "-m", "photos", "--images", ".", "captions.tsv"),
    "classify": ("classify", "I see a dog."),
    "evaluate labels": ("evaluate labels", "-m", "languages", "labels.tsv"),
    "transcribe": ("transcribe", "tones.wav"),
    "evaluate transcripts": ("evaluate transcripts", "-m", "digits", "--audio", ".", "spoken.tsv"),
    "explain": ("explain", "--to", "de", "I see a dog."),
    "train": ("train", "pairs.tsv", "--dev", "pairs.tsv", "-o", "run", *TRAINING),
    "compare": (
        *("models compare", "none", "dot", "--train", "pairs.tsv", "--dev", "pairs.tsv"),
        *("-o", "runs", *TRAINING),
    ),
}

pytestmark = pytest.mark.skipif(not is_bundle(BOX / "everyday"), reason="not in the box")


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an input for each task to the working folder."""
    monkeypatch.chdir(tmp_path)
    pairs = "".join(f"I see {number} dogs.\tIch sehe {number} Hunde.\n" for number in range(40))
    Path("pairs.tsv").write_text(pairs)
    Path("captions.tsv").write_text("image.png\ta dog\n")
    Path("labels.tsv").write_text("en\tI see a dog.\nde\tIch sehe einen Hund.\n")
    Path("spoken.tsv").write_text("tones.wav\tone\n")
    Path("tones.wav").write_bytes(tones.split(1, 1, 0, seed=1).train[0].wav)
    Image.new("RGB", (8, 8)).save("image.png")


def exhausted(attn: Attn, words: tuple[str, ...]) -> None:
    shown = attn(*words[0].split(), *words[1:], *DEVICE, "-q", status=1).err
    assert shown.startswith("attn: the memory is exhausted; ") and shown.count("\n") == 1


def fail(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")


def fail_in_c(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError("std::bad_alloc")


@pytest.mark.parametrize("name", WORDS)
def test_a_network_without_memory(
    name: str, inputs: None, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.nn.Module, "__call__", fail)
    with suppress(ImportError):
        library = importlib.import_module("ctranslate2")
        monkeypatch.setattr(library.Translator, "translate_batch", fail_in_c)
    exhausted(attn, WORDS[name])


@pytest.mark.parametrize("name", ["caption", "transcribe"])
def test_a_file_that_is_read_without_memory(
    name: str, inputs: None, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pytest.importorskip("soundfile"), "SoundFile", fail)
    monkeypatch.setattr(Image, "open", fail)
    exhausted(attn, WORDS[name])
