"""Decoding: the same answer step by step or at once, alone or in a batch, padded or not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from models.attention.softmax import NullSlot
from models.core.types import Batch, select
from models.core.use_config import SearchConfig
from models.networks.encoder_decoder import EncoderDecoder
from models.search.beam import search
from models.search.hypotheses import Finished
from models.text.tokenizer import PAD
from tests.models.small import (
    FIRST_WORD,
    TEXT_PRESETS,
    VOCABULARY,
    hears,
    imaged,
    pairs,
    reads_images,
    small_model,
    sounded,
    steps,
)

pytestmark = pytest.mark.usefixtures("no_gradients")
every_preset = pytest.mark.parametrize("preset", TEXT_PRESETS)
LENGTHS = [4, 7, 2]
PAIRS = pairs(LENGTHS, [5, 3, 6])
CLOSE = 1e-4
MOST_TOKENS = 17


def batch_of(preset: str, batch: Batch = PAIRS) -> Batch:
    """Return sources and targets of different lengths, as a preset reads them.

    Captioners get fewer cells than their grid has, so that there is padding for them too.
    """
    if hears(preset):
        return sounded(batch)
    return batch._replace(source=imaged(batch.source)) if reads_images(preset) else batch


def alone(batch: Batch, row: int) -> Batch:
    """One pair of a batch, without its padding."""
    slots, steps = int(batch.source_mask[row].sum()), int(batch.target_mask[row].sum())
    source, target = batch[:2], batch[2:5]
    return Batch(
        *(part[row : row + 1, :slots] for part in source),
        *(part[row : row + 1, :steps] for part in target),
    )


def found_in(model: EncoderDecoder, batch: Batch, config: SearchConfig) -> list[list[Finished]]:
    memory = model.encode(batch.source, batch.source_mask)
    lengths = batch.source_mask.sum(1).tolist()
    limits = [min(2 * n + 3, MOST_TOKENS) for n in lengths]  # sound has many frames
    return search(model, memory, limits, [str(n) for n in lengths], config)


def close(one: Tensor | None, other: Tensor | None) -> None:
    if one is None or other is None:
        assert one is None and other is None
    else:
        torch.testing.assert_close(one, other, atol=CLOSE, rtol=CLOSE)


def agree(one: list[Finished], other: list[Finished]) -> None:
    assert [found.ids for found in one] == [found.ids for found in other]
    for a, b in zip(one, other, strict=True):
        assert a[1:] == pytest.approx(b[1:], abs=1e-4)


@every_preset
def test_step_by_step_equals_all_at_once(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    forced = model.teacher_force(batch, want_weights=True)
    log_probs, weights = steps(model, batch)
    close(log_probs, model.output(forced.features).log_softmax(-1))
    close(weights, forced.weights)


@every_preset
def test_training_without_dropout_equals_evaluation(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    if model.config.attention.read == "hard":
        pytest.skip("hard attention draws while training")
    expected = model.teacher_force(batch, want_weights=True)
    try:
        found = model.train().teacher_force(batch, want_weights=True)
    finally:
        model.eval()
    close(found.features[batch.target_mask], expected.features[batch.target_mask])
    close(found.weights, expected.weights)


@every_preset
def test_a_later_target_token_changes_nothing_before_it(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    changed = batch.target_in.clone()
    changed[:, 3:] = FIRST_WORD
    before, after = (
        model.teacher_force(batch._replace(target_in=tokens)).features
        for tokens in (batch.target_in, changed)
    )
    close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:], atol=CLOSE)


@every_preset
def test_the_target_reads_the_source(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    other = torch.where(PAIRS.source >= FIRST_WORD, PAIRS.source.flip(1), PAIRS.source)
    other = torch.where(PAIRS.source_mask, other.clamp(min=FIRST_WORD), PAD)
    changed = batch_of(preset, PAIRS._replace(source=other))
    one, two = (model.teacher_force(b).features for b in (batch, changed))
    assert not torch.allclose(one[:, 0], two[:, 0], atol=CLOSE)


@every_preset
def test_a_sentence_alone_equals_the_same_in_a_batch(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    together = model.encode(batch.source, batch.source_mask)
    forced = model.teacher_force(batch, want_weights=True)
    for row in range(3):
        single = alone(batch, row)
        memory = model.encode(single.source, single.source_mask)
        slots, length = memory.mask.shape[1], single.target_in.shape[1]
        close(together.values[row : row + 1, :slots], memory.values)
        final = None if together.final is None else together.final[row : row + 1]
        close(final, memory.final)
        expected = model.teacher_force(single, want_weights=True)
        close(forced.features[row : row + 1, :length], expected.features)
        if forced.weights is not None:
            close(forced.weights[row : row + 1, :length, :slots], expected.weights)


@every_preset
@pytest.mark.parametrize("config", [SearchConfig(nbest=3), SearchConfig(method="sample", nbest=3)])
def test_an_output_does_not_depend_on_the_batch(preset: str, config: SearchConfig) -> None:
    model, batch = small_model(preset), batch_of(preset)
    together = found_in(model, batch, config)
    for row in range(3):
        [found] = found_in(model, alone(batch, row), config)
        agree(together[row], found)


@every_preset
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
        for one, other in zip(
            found_in(model, padded, SearchConfig()),
            found_in(model, batch, SearchConfig()),
            strict=True,
        ):
            agree(one, other)


@every_preset
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
    assert telling.weights is not None and asked.weights is not None
    total = telling.weights.sum(-1)
    if any(isinstance(part, NullSlot) for part in model.modules()):
        assert (total < 1).all() and (total > 0).all()
    else:
        torch.testing.assert_close(total, torch.ones(3, 6))
    slots = model.encode(batch.source, batch.source_mask).mask
    padding = ~slots[:, None].expand(-1, 6, -1)
    assert (telling.weights[padding] == 0).all()
    close(asked.weights, telling.weights[:, 0])


def advanced(model: EncoderDecoder, tokens: Tensor, state: Any, prepared: Any) -> Any:
    """Return the state after reading tokens (R, T)."""
    for column in tokens.unbind(1):
        state = model.step(column, state, prepared).state
    return state


@every_preset
def test_a_state_is_reordered_by_select(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    memory = model.encode(batch.source, batch.source_mask)
    prepared, state = model.start(memory)
    state = advanced(model, batch.target_in[:, :2], state, prepared)
    rows, tokens = torch.tensor([2, 0, 0, 1]), batch.target_in[:, 2]
    step = model.step(tokens, state, prepared, want_weights=True)
    chosen = model.step(
        tokens[rows], select(state, rows), select(prepared, rows), want_weights=True
    )
    close(chosen.log_probs, step.log_probs[rows])
    close(chosen.weights, None if step.weights is None else step.weights[rows])
    after = model.step(tokens, step.state, prepared).log_probs
    later = model.step(tokens[rows], chosen.state, select(prepared, rows)).log_probs
    close(later, after[rows])
    first = model.step(tokens, model.start(memory)[1], prepared).log_probs
    begun = model.decoder.start(select(prepared, rows))
    close(model.step(tokens[rows], begun, select(prepared, rows)).log_probs, first[rows])
    again, _ = model.start(select(memory, rows))
    close(model.step(tokens[rows], select(state, rows), again).log_probs, step.log_probs[rows])


@every_preset
def test_a_beam_on_one_memory_equals_as_many_sentences(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    shared, state = model.start(model.encode(batch.source, batch.source_mask))
    rows = torch.arange(3).repeat_interleave(4)
    separate = select(shared, rows)
    random = torch.Generator().manual_seed(1)
    tokens = torch.randint(FIRST_WORD, VOCABULARY, (12, 3), generator=random)
    state = select(state, rows)
    for column in tokens.unbind(1):
        one = model.step(column, state, shared, want_weights=True)
        other = model.step(column, state, separate, want_weights=True)
        close(one.log_probs, other.log_probs)
        close(one.weights, other.weights)
        state = one.state
