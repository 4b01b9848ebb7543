"""Small models of every preset: the same configuration with its sizes divided."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from models.core.config import ModelConfig
from models.core.registry import source_name
from models.core.types import Batch, VocabularySizes
from models.networks.bundle import build
from models.networks.config import SmallCnnConfig
from models.networks.encoder_decoder import EncoderDecoder
from models.storage.presets import PRESETS, model_config
from models.text.tokenizer import END, PAD, START

VOCABULARY = 30
FIRST_WORD = END + 1
IMAGES = SmallCnnConfig(size=32)  # 4 x 4 cells of 64
FEATURES = 64
FRAMES = 8  # of a recording for each token of a sentence
INPUTS = ("text", "rows", "image", "audio")  # kinds that this file writes; a new one has own tests
LAYERS, HEADS, HIDDEN = 2, 4, 32  # the most that a small model has


def reads_images(preset: str) -> bool:
    """Return True if a preset's models caption images."""
    return source_name(model_config(preset).family) == "image"


def hears(preset: str) -> bool:
    """Return True if a preset's models transcribe sound."""
    return source_name(model_config(preset).family) == "audio"


def small_config(preset: str) -> Any:
    """Return the configuration of a preset, 16 features wide and 2 layers deep, without dropout."""
    config = model_config(preset)
    divisor = max(1, config.embedding // 16)
    most = {"heads": HEADS, "encoder_layers": LAYERS, "decoder_layers": LAYERS}
    values = {name: min(value, most[name]) for name, value in vars(config).items() if name in most}
    return changed(
        config,
        **values,
        embedding=config.embedding // divisor,
        hidden=min(config.hidden // divisor, HIDDEN),
        readout=getattr(config, "readout", 0) // divisor,
        dropout=0.0,
        image=IMAGES,
        audio=changed(getattr(config, "audio", None), bands=FEATURES, channels=4),
    )


def changed(config: Any, **values: Any) -> Any:
    """Return settings with other values of those that their class has."""
    own = {name: value for name, value in values.items() if hasattr(config, name)}
    return dataclasses.replace(config, **own) if own else config


def different(presets: Iterable[str]) -> list[str]:
    """Return one preset of those that differ in their sizes alone: the smallest, if it is nano."""
    nano_last = sorted(presets, key=lambda name: name.endswith("nano"))
    return [*{repr(small_config(name)): name for name in nano_last}.values()]


TEXT_PRESETS = different(n for n in PRESETS if source_name(model_config(n).family) in INPUTS)
CLASSIFIERS = different(
    n for n in PRESETS if source_name(model_config(n).family) == "labelled_text"
)


def one_of_each_family(presets: Iterable[str]) -> list[str]:
    """Return the narrowest of the presets of each family."""
    found: dict[str, str] = {}
    for name in sorted(presets, key=lambda name: model_config(name).embedding):
        found.setdefault(model_config(name).family, name)
    return list(found.values())


@torch.no_grad()
def add_noise(module: nn.Module, scale: float) -> None:
    """Add random numbers to every parameter: biases start at 0, which would hide mistakes."""
    for parameter in module.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=scale)


def random_model(
    config: ModelConfig, sizes: VocabularySizes, *, noise: float = 0.2, seed: int = 1
) -> EncoderDecoder:
    """Return a model with random weights, no two of them equal."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = build(config, sizes)
        add_noise(model, noise)
    return model.eval()


@cache
def small_model(preset: str, vocabulary: int = VOCABULARY) -> EncoderDecoder:
    """Return a model of a preset with random weights and an uneven output. Not to be changed."""
    source = 0 if reads_images(preset) or hears(preset) else vocabulary
    model = random_model(small_config(preset), VocabularySizes(source, vocabulary, source > 0))
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        model.output.bias.add_(torch.randn(vocabulary, generator=random))
    return model


def sources(*lengths: int, seed: int = 1, vocabulary: int = VOCABULARY) -> tuple[Tensor, Tensor]:
    """Random source ids (B, S) of these lengths, end mark included, and their mask."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.full((len(lengths), max(lengths)), PAD)
    for row, length in enumerate(lengths):
        ids[row, : length - 1] = torch.randint(
            FIRST_WORD, vocabulary, (length - 1,), generator=random
        )
        ids[row, length - 1] = END
    return ids, ids != PAD


def imaged(ids: Tensor) -> Tensor:
    """For captioners, the features (B, S, V) of a cell or frame for each source token (B, S)."""
    random = torch.Generator().manual_seed(1)
    return torch.randn(VOCABULARY, FEATURES, generator=random)[ids]


def sounded(batch: Batch) -> Batch:
    """For models of sound: features (B, F, bands) of 8 frames in place of each source token."""
    loudness = torch.linspace(0.5, 1.5, FRAMES)[:, None]
    frames = (imaged(batch.source)[:, :, None] * loudness).flatten(1, 2)
    mask = batch.source_mask.repeat_interleave(FRAMES, 1)
    return batch._replace(source=frames, source_mask=mask)


def pairs(source_lengths: list[int], target_lengths: list[int]) -> Batch:
    """Random sentence pairs of these lengths, end marks included."""
    source, source_mask = sources(*source_lengths, seed=1)
    target, target_mask = sources(*target_lengths, seed=2)
    begun = torch.nn.functional.pad(target[:, :-1], (1, 0), value=START)
    return Batch(source, source_mask, begun, target, target_mask)


def step(ours: Any, gates: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    """Return the state after a step of PyTorch's LSTM, whose input is the gates of ours."""
    size = state.shape[2]
    theirs = torch.nn.LSTMCell(1, size)
    keep, write, show, new = (part * size for part in range(4))  # our order of the gates
    order = torch.cat([torch.arange(start, start + size) for start in (write, keep, new, show)])
    inner = gates[:, order] + ours.recurrent.bias[order]
    weights = (torch.eye(4 * size), ours.recurrent.weight[order], *[torch.zeros(4 * size)] * 2)
    for name, value in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), weights, strict=True):
        setattr(theirs, name, torch.nn.Parameter(value))
    theirs.input_size = 4 * size
    return torch.stack(theirs(inner, tuple(state.unbind(1))), 1)
