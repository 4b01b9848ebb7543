"""A folder of recordings, and a model of speech with random weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attncli.transcribe import tones
from models.core.types import VocabularySizes
from models.core.use_config import SearchConfig, TokenizerConfig
from models.networks.bundle import Bundle, build, save
from models.storage.presets import model_config
from models.text.tokenizer import Tokenizer
from models.text.tokenizer import train as learn
from tests.attncli.training.kinds import write_wavs

pytest.importorskip("soundfile")


@pytest.fixture(scope="session")
def wavs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of recordings with train.tsv and dev.tsv."""
    return write_wavs(tmp_path_factory.mktemp("sound") / "wavs")


@pytest.fixture(scope="session")
def tone_tokenizer() -> Tokenizer:
    return tokenizer_of_tones()


def tokenizer_of_tones() -> Tokenizer:
    """Return a tokenizer of the words that tones stand for."""
    return learn([" ".join(tones.WORDS)] * 20, [], 300, TokenizerConfig(kind="word"))


@pytest.fixture(scope="session", params=["listen-attend-spell-nano", "speech-transformer-nano"])
def speech_model(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    tone_tokenizer: Tokenizer,
) -> Path:
    """Return the bundle of a model with random weights, which says some words."""
    folder = tmp_path_factory.mktemp("speech")
    save_random(request.param, tone_tokenizer, folder)
    return folder


def save_random(preset: str, tokenizer: Tokenizer, folder: Path) -> None:
    """Save a model with random weights, which says some words."""
    torch.manual_seed(3)
    sizes = VocabularySizes(0, len(tokenizer.target), False)
    model = build(model_config(preset), sizes)
    with torch.no_grad():
        model.output.bias.add_(torch.randn(sizes.target) * 2)
        model.output.bias[3] -= 1  # outputs of a few words
    config = SearchConfig(max_ratio=0.2, max_extra=3)
    save(Bundle(model, tokenizer, TokenizerConfig(kind="word"), config), folder)
