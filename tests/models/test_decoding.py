"""Decoding: the same answer step by step or at once, alone or in a batch, padded or not."""

from __future__ import annotations

import pytest
import torch

from models.attention.softmax import NullSlot
from models.core.registry import source_name
from models.core.types import Batch
from models.core.use_config import SearchConfig
from models.networks.encoder_decoder import EncoderDecoder
from models.search.beam import search
from models.search.hypotheses import Finished
from models.text.tokenizer import PAD
from tests.models.contracts import CLOSE, alone, check, close
from tests.models.rows import TEXTS
from tests.models.rows import batch_of as rows_of
from tests.models.search.exhaustive import agree
from tests.models.small import (
    CLASSIFIERS,
    FIRST_WORD,
    TEXT_PRESETS,
    small_config,
    small_model,
)
from tests.models.variants import LABELLED, PAIRS, VARIANTS, batch_of, model_of

every_preset = pytest.mark.parametrize("preset", TEXT_PRESETS)
MAX_TOKENS = 17


@pytest.mark.parametrize("preset", [*TEXT_PRESETS, *CLASSIFIERS])
def test_every_preset_keeps_the_equalities(preset: str) -> None:
    batch = LABELLED if preset in CLASSIFIERS else batch_of(preset)
    if source_name(small_config(preset).family) == "rows":
        batch = rows_of(TEXTS)
    check(small_model(preset), batch)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_keeps_the_equalities(name: str) -> None:
    config, batch = VARIANTS[name]
    check(model_of(config), batch)


def found_in(model: EncoderDecoder, batch: Batch, config: SearchConfig) -> list[list[Finished]]:
    memory = model.encode(batch.source, batch.source_mask)
    lengths = batch.source_mask.sum(1).tolist()
    limits = [min(2 * n + 3, MAX_TOKENS) for n in lengths]  # sound has many frames
    return search(model, memory, limits, [str(n) for n in lengths], config)


@every_preset
@torch.no_grad()
def test_training_without_dropout_equals_evaluation(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    if model.read_mode.startswith("hard"):
        pytest.skip("hard attention draws while training")
    expected = model.teacher_force(batch, want_weights=True)
    try:
        found = model.train().teacher_force(batch, want_weights=True)
    finally:
        model.eval()
    close(found.features[batch.target_mask], expected.features[batch.target_mask])
    close(found.weights, expected.weights)


@every_preset
@torch.no_grad()
def test_the_target_reads_its_prefix_and_the_source(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    changed = batch.target_in.clone()
    changed[:, 3:] = FIRST_WORD
    before, after = (
        model.teacher_force(batch._replace(target_in=tokens)).features
        for tokens in (batch.target_in, changed)
    )
    close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:], **CLOSE)
    other = torch.where(PAIRS.source >= FIRST_WORD, PAIRS.source.flip(1), PAIRS.source)
    other = torch.where(PAIRS.source_mask, other.clamp(min=FIRST_WORD), PAD)
    found = model.teacher_force(batch_of(preset, PAIRS._replace(source=other))).features
    assert not torch.allclose(before[:, 0], found[:, 0], **CLOSE)


@every_preset
@pytest.mark.parametrize("config", [SearchConfig(nbest=3), SearchConfig(method="sample", nbest=3)])
@torch.no_grad()
def test_an_output_does_not_depend_on_the_batch(preset: str, config: SearchConfig) -> None:
    model, batch = small_model(preset), batch_of(preset)
    together = found_in(model, batch, config)
    for row in range(3):
        [found] = found_in(model, alone(batch, row), config)
        agree(together[row], found)


@every_preset
@torch.no_grad()
def test_padding_changes_nothing(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    forced = model.teacher_force(batch, want_weights=True)
    for filler in (PAD, FIRST_WORD):
        pad = torch.nn.functional.pad
        source = torch.where(PAIRS.source_mask, PAIRS.source, filler)
        padded = Batch(
            pad(source, (0, 3), value=filler),
            pad(PAIRS.source_mask, (0, 3)),
            pad(batch.target_in, (0, 2), value=filler),
            pad(batch.target_out, (0, 2), value=filler),
            pad(batch.target_mask, (0, 2)),
        )
        padded = batch_of(preset, padded)
        found = model.teacher_force(padded, want_weights=True)
        close(found.features[padded.target_mask], forced.features[batch.target_mask])
        if forced.weights is not None and found.weights is not None:
            slots = forced.weights.shape[2]
            close(found.weights[:, :6, :slots], forced.weights)
            assert (found.weights[:, :, slots:] == 0).all()
        outputs = (found_in(model, each, SearchConfig()) for each in (padded, batch))
        for one, other in zip(*outputs, strict=True):
            agree(one, other)


@every_preset
@torch.no_grad()
def test_asking_for_weights_changes_nothing_else(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    silent, telling = model.teacher_force(batch), model.teacher_force(batch, want_weights=True)
    assert torch.equal(silent.features, telling.features) and silent.weights is None
    prepared, state = model.start(model.encode(batch.source, batch.source_mask))
    tokens = batch.target_in[:, 0]
    step = model.step(tokens, state, prepared)
    asked = model.step(tokens, state, prepared, want_weights=True)
    assert torch.equal(step.log_probs, asked.log_probs) and step.weights is None
    if model.config.family == "seq2seq":
        assert telling.weights is None and asked.weights is None
        return
    assert telling.weights is not None
    total = telling.weights.sum(-1)
    if any(isinstance(part, NullSlot) for part in model.modules()):
        assert (total < 1).all() and (total > 0).all()
    else:
        torch.testing.assert_close(total, torch.ones(3, 6))
