"""Models of several inputs: rows of two texts, and of a text and an image."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import pytest
import torch

from models.core.registry import names
from models.core.types import VocabularySizes
from models.networks.encoder_decoder import EncoderDecoder
from models.text.tokenizer import END
from tests.models.rows import ROWS, TEXTS, WITH_IMAGE, batch_of
from tests.models.small import FIRST_WORD, VOCABULARY, random_model, small_config

SIZES = VocabularySizes(VOCABULARY, VOCABULARY, True)
CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-4}
RECURRENT, TRANSFORMER = "multi-source-nano", "multi-source-transformer-nano"
every = pytest.mark.parametrize("combination", names("combination"))
each_preset = pytest.mark.parametrize("preset", [RECURRENT, TRANSFORMER])
each_kind = pytest.mark.parametrize("inputs", [TEXTS, WITH_IMAGE])


@cache
def model_of(
    combination: str, inputs: tuple[str, ...] = TEXTS, preset: str = RECURRENT, **changes: Any
) -> EncoderDecoder:
    config = dataclasses.replace(
        small_config(preset), inputs=inputs, combination=combination, **changes
    )
    return random_model(config, SIZES)


@each_preset
@torch.no_grad()
def test_each_text_is_encoded_by_its_own_encoder_alone(preset: str) -> None:
    encoder: Any = model_of("flat", preset=preset).encoder
    source, mask, *_ = batch_of(TEXTS)
    memory = encoder(source, mask)
    for row, tokens in enumerate(ROWS):
        end, finals = tokens.index(END) + 1, []
        for number, part in enumerate((tokens[:end], tokens[end:])):
            ids = torch.tensor([part])
            alone = encoder.texts[number](ids, torch.ones_like(ids, dtype=torch.bool))
            begin = end * number
            torch.testing.assert_close(
                memory.values[row, begin : begin + len(part)], alone.values[0], **CLOSE
            )
            finals += [] if alone.final is None else [alone.final[0]]
        if preset == RECURRENT:
            torch.testing.assert_close(memory.final[row], torch.cat(finals), **CLOSE)


@each_preset
@each_kind
@every
@torch.no_grad()
def test_every_input_changes_the_output(
    combination: str, inputs: tuple[str, ...], preset: str
) -> None:
    model, batch = model_of(combination, inputs, preset), batch_of(inputs)
    before = model.teacher_force(batch).features
    changed = batch.source.clone()
    changed[1, 0] = FIRST_WORD + 20
    others = [batch._replace(source=changed)]
    if batch.images is None:
        changed = batch.source.clone()
        changed[1, 4] = FIRST_WORD + 20
        others.append(batch._replace(source=changed))
    else:
        others.append(batch._replace(images=batch.images.flip(3)))
    for other in others:
        after = model.teacher_force(other).features
        assert not torch.allclose(before[1], after[1], atol=1e-4)


@each_preset
@torch.no_grad()
def test_image_features_equal_pixels(preset: str) -> None:
    model, batch = model_of("flat", WITH_IMAGE, preset), batch_of(WITH_IMAGE)
    encoder: Any = model.encoder
    features = encoder.image.features(batch.images)
    one, two = (model.teacher_force(b).features for b in (batch, batch._replace(images=features)))
    torch.testing.assert_close(one, two, **CLOSE)
