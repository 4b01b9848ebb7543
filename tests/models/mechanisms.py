"""Configurations, models and checks shared by the tests of attention."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

import pytest
import torch
from torch import Tensor, nn

from models.attention.base import Score
from models.attention.config import HardConfig
from models.attention.normalisers import Monotonic
from models.attention.reads import Hard
from models.attention.softmax import History
from models.core.attention_config import AttentionConfig, SelfAttentionConfig
from models.core.errors import ModelError
from models.core.registry import find, names
from models.core.settings import fields_of, limits_of
from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.networks.encoder_decoder import EncoderDecoder
from tests.models.small import VOCABULARY, add_noise, changed, pairs, random_model, small_config

EQUAL_SIZES = {name for name in names("score") if find("score", name).needs_equal_sizes}
MONOTONIC = [name for name in names("normalise") if issubclass(find("normalise", name), Monotonic)]
AT_ONCE = [name for name in names("score") if not find("score", name).sequential]
BATCH = pairs([4, 7, 2], [5, 3, 6])
CLOSE: dict[str, Any] = {"atol": 1e-4, "rtol": 1e-4}
SIZES = VocabularySizes(VOCABULARY, VOCABULARY, True)
FAMILIES = ("rnnsearch-nano", "luong-nano")
TRANSFORMER = "transformer-nano"
READ_MODES = limits_of(HardConfig, "read_decode").choices
Vector = list[float]
M = TypeVar("M", bound=nn.Module)

RECURRENT = [  # the families take turns
    (FAMILIES[(row // 2 + column) % 2], score, window)
    for row, score in enumerate(names("score"))
    for column, window in enumerate(names("window"))
]
each_kind = pytest.mark.parametrize(
    ("preset", "score", "window"),
    [*RECURRENT, *itertools.product([TRANSFORMER], AT_ONCE, names("window"))],
)


def combinations(score: str, window: str, preset: str = "") -> Iterator[AttentionConfig]:
    """Three normalisers with a score and a window, by turns with each read and number of heads.

    So each score meets each normaliser with each read, in some window, and hard attention reads by
    argmax or samples. Every third one has a null slot, every third one head of keys and values for
    both heads.
    """
    turn = names("score").index(score) + names("window").index(window)
    normalisers = names("normalise")
    for number, normalise in enumerate(normalisers, turn):
        if (number - 2 * turn) % len(normalisers) > 2:
            continue
        moves = normalise in MONOTONIC
        read = "soft" if moves else names("read")[number % 2]
        heads = 1 + number // 2 % 2
        if cannot_move(window, normalise, read) or (moves and preset == TRANSFORMER):
            continue
        config = AttentionConfig.of(
            score=score,
            window=window,
            normalise=normalise,
            read=read,
            heads=heads,
            kv_heads=1 if number % 3 == 2 else 0,
            null_slot=number % 3 == 1 and not moves,
        )
        yield changed(config, read_decode=READ_MODES[number // 2 % 2], window_size=2)


def cannot_move(window: str, normalise: str, read: str) -> bool:
    """Return True for parts that monotonic attention refuses."""
    return normalise in MONOTONIC and (window == "local_p" or read == "hard")


def configured(preset: str, config: AttentionConfig) -> Any:
    """Return a small model with an attention; a Transformer also has it as self-attention."""
    base = dataclasses.replace(small_config(preset), encoder_layers=1, decoder_layers=1)
    if base.family != "transformer":
        return dataclasses.replace(base, attention=config)
    cross = dataclasses.replace(config, heads=1)
    own = SelfAttentionConfig(
        **{name: getattr(config, name) for name in fields_of(SelfAttentionConfig)}
    )
    return dataclasses.replace(base, heads=config.heads, attention=cross, self_attention=own)


@cache
def model_of(preset: str, config: AttentionConfig) -> EncoderDecoder:
    """Return a model with random weights. Not to be changed."""
    model = random_model(configured(preset, config), SIZES, noise=0.1)
    with torch.no_grad():
        for part in model.modules():
            if isinstance(part, Monotonic):
                part.offset.fill_(0.2)  # so that steps stop at some slot
    return model


def transformer(**changes: Any) -> EncoderDecoder:
    """Return a Transformer of random weights with some settings."""
    config = dataclasses.replace(small_config(TRANSFORMER), **changes)
    return random_model(config, SIZES, noise=0.1)


def always_sampled(module: M) -> M:
    """Make hard attention sample for every sentence in training; return the module."""
    for part in module.modules():
        if isinstance(part, Hard):
            part.expected_share = 0.0
    return module


def unsharpened(module: M) -> M:
    """Return a module with flat scores: a sparse normaliser is constant where scores are sharp."""
    for part in module.modules():
        if isinstance(part, Score):
            part.register_forward_hook(lambda score, inputs, output: output * 0.05)
    return module


def close(one: Tensor, other: Tensor, config: AttentionConfig) -> None:
    torch.testing.assert_close(one, other, **CLOSE, msg=lambda text: f"{config}\n{text}")


def a_past() -> History:
    """Return a history of two sentences with 3 queries to 5 slots, (B, T, ..)."""
    random = torch.Generator().manual_seed(5)
    previous = torch.rand(2, 3, 5, generator=random).softmax(-1)
    total = torch.rand(2, 3, 5, generator=random) * 3
    return History(torch.full((2, 3), 2.0), previous, total, torch.zeros(2, 3))


def refused(make: Callable[[], Any], *facts: str) -> None:
    with pytest.raises(ModelError) as error:
        make()
    message = str(error.value)
    assert "\n" not in message
    for fact in facts:
        assert fact in message, message


def hard_model(family: str, heads: int = 1) -> EncoderDecoder:
    """Return a model with hard attention, sharp enough for its draws to matter."""
    torch.manual_seed(2)
    config = AttentionConfig.of(score="general", read="hard", heads=heads)
    model = always_sampled(build(configured(family, config), SIZES)).train()
    add_noise(model, 0.3)
    return model
