"""Decoding: the same answer step by step or at once, alone or in a batch, padded or not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from models.config import SearchConfig
from models.model import EncoderDecoder
from models.search import Found, search
from models.tokenizer import PAD
from models.types import Batch
from models.zoo import PRESETS
from tests.models.small import FIRST_WORD, VOCABULARY, pairs, small_model

every_preset = pytest.mark.parametrize("preset", PRESETS)
LENGTHS = [4, 7, 2]
BATCH = pairs(LENGTHS, [5, 3, 6])
CLOSE = 1e-4


@pytest.fixture(autouse=True)
def no_gradients() -> Any:
    with torch.no_grad():
        yield


def alone(batch: Batch, row: int) -> Batch:
    """One pair of a batch, without its padding."""
    slots, steps = int(batch.source_mask[row].sum()), int(batch.target_mask[row].sum())
    source, target = (part[row : row + 1] for part in batch[:2]), batch[2:]
    return Batch(
        *(part[:, :slots] for part in source), *(part[row : row + 1, :steps] for part in target)
    )


def found_in(model: EncoderDecoder, batch: Batch, config: SearchConfig) -> list[list[Found]]:
    memory = model.encode(batch.source, batch.source_mask)
    lengths = batch.source_mask.sum(1).tolist()
    return search(model, memory, [2 * n + 3 for n in lengths], [str(n) for n in lengths], config)


def steps(model: EncoderDecoder, batch: Batch) -> tuple[Tensor, Tensor | None]:
    """Log-probabilities (B, T, Y) and weights (B, T, S) of a target, token by token."""
    prepared, state = model.start(model.encode(batch.source, batch.source_mask))
    log_probs: list[Tensor] = []
    weights: list[Tensor] = []
    for tokens in batch.target_in.unbind(1):
        step = model.step(tokens, state, prepared, want_weights=True)
        state = step.state
        log_probs.append(step.log_probs)
        if step.weights is not None:
            weights.append(step.weights)
    return torch.stack(log_probs, 1), torch.stack(weights, 1) if weights else None


def close(one: Tensor | None, other: Tensor | None) -> None:
    if one is None or other is None:
        assert one is None and other is None
    else:
        torch.testing.assert_close(one, other, atol=CLOSE, rtol=CLOSE)


def agree(one: list[Found], other: list[Found]) -> None:
    assert [found.ids for found in one] == [found.ids for found in other]
    for a, b in zip(one, other, strict=True):
        assert a[1:] == pytest.approx(b[1:], abs=1e-4)


@every_preset
def test_step_by_step_equals_all_at_once(preset: str) -> None:
    model = small_model(preset)
    forced = model.force(BATCH, want_weights=True)
    log_probs, weights = steps(model, BATCH)
    close(log_probs, model.output(forced.features).log_softmax(-1))
    close(weights, forced.weights)


@every_preset
def test_training_without_dropout_equals_evaluation(preset: str) -> None:
    model = small_model(preset)
    expected = model.force(BATCH, want_weights=True)
    try:
        found = model.train().force(BATCH, want_weights=True)
    finally:
        model.eval()
    close(found.features[BATCH.target_mask], expected.features[BATCH.target_mask])
    close(found.weights, expected.weights)


@every_preset
def test_a_later_target_token_changes_nothing_before_it(preset: str) -> None:
    model = small_model(preset)
    changed = BATCH.target_in.clone()
    changed[:, 3:] = FIRST_WORD
    before, after = (
        model.force(BATCH._replace(target_in=tokens)).features
        for tokens in (BATCH.target_in, changed)
    )
    close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:], atol=CLOSE)


@every_preset
def test_the_target_reads_the_source(preset: str) -> None:
    model = small_model(preset)
    other = torch.where(BATCH.source >= FIRST_WORD, BATCH.source.flip(1), BATCH.source)
    other = torch.where(BATCH.source_mask, other.clamp(min=FIRST_WORD), PAD)
    one, two = (model.force(BATCH._replace(source=s)).features for s in (BATCH.source, other))
    assert not torch.allclose(one[:, 0], two[:, 0], atol=CLOSE)


@every_preset
def test_a_sentence_alone_equals_the_same_in_a_batch(preset: str) -> None:
    model = small_model(preset)
    together = model.encode(BATCH.source, BATCH.source_mask)
    forced = model.force(BATCH, want_weights=True)
    for row in range(3):
        single = alone(BATCH, row)
        memory = model.encode(single.source, single.source_mask)
        slots, length = memory.mask.shape[1], single.target_in.shape[1]
        close(together.values[row : row + 1, :slots], memory.values)
        final = None if together.final is None else together.final[row : row + 1]
        close(final, memory.final)
        expected = model.force(single, want_weights=True)
        close(forced.features[row : row + 1, :length], expected.features)
        if forced.weights is not None:
            close(forced.weights[row : row + 1, :length, :slots], expected.weights)


@every_preset
@pytest.mark.parametrize("config", [SearchConfig(nbest=3), SearchConfig(method="sample", nbest=3)])
def test_an_output_does_not_depend_on_the_batch(preset: str, config: SearchConfig) -> None:
    model = small_model(preset)
    together = found_in(model, BATCH, config)
    for row in range(3):
        [found] = found_in(model, alone(BATCH, row), config)
        agree(together[row], found)


@every_preset
def test_padding_changes_nothing(preset: str) -> None:
    model = small_model(preset)
    forced = model.force(BATCH, want_weights=True)
    for filler in (PAD, FIRST_WORD):
        pad = torch.nn.functional.pad
        source = torch.where(BATCH.source_mask, BATCH.source, filler)
        padded = Batch(
            pad(source, (0, 3), value=filler),
            pad(BATCH.source_mask, (0, 3)),
            pad(BATCH.target_in, (0, 2), value=filler),
            pad(BATCH.target_out, (0, 2), value=filler),
            pad(BATCH.target_mask, (0, 2)),
        )
        found = model.force(padded, want_weights=True)
        close(found.features[padded.target_mask], forced.features[BATCH.target_mask])
        if forced.weights is not None and found.weights is not None:
            close(found.weights[:, :6, :7], forced.weights)
            assert (found.weights[:, :, 7:] == 0).all()
        for one, other in zip(
            found_in(model, padded, SearchConfig()),
            found_in(model, BATCH, SearchConfig()),
            strict=True,
        ):
            agree(one, other)


@every_preset
def test_asking_for_weights_changes_nothing_else(preset: str) -> None:
    model = small_model(preset)
    silent, telling = model.force(BATCH), model.force(BATCH, want_weights=True)
    assert torch.equal(silent.features, telling.features) and silent.weights is None
    prepared, state = model.start(model.encode(BATCH.source, BATCH.source_mask))
    tokens = BATCH.target_in[:, 0]
    step = model.step(tokens, state, prepared)
    asked = model.step(tokens, state, prepared, want_weights=True)
    assert torch.equal(step.log_probs, asked.log_probs) and step.weights is None
    if model.config.family == "seq2seq":
        assert telling.weights is None and asked.weights is None
        return
    assert telling.weights is not None and asked.weights is not None
    torch.testing.assert_close(telling.weights.sum(-1), torch.ones(3, 6))
    padding = ~BATCH.source_mask[:, None].expand(-1, 6, -1)
    assert (telling.weights[padding] == 0).all()
    close(asked.weights, telling.weights[:, 0])


def advanced(model: EncoderDecoder, tokens: Tensor, state: Any, prepared: Any) -> Any:
    """The state after reading tokens (R, T)."""
    for column in tokens.unbind(1):
        state = model.step(column, state, prepared).state
    return state


@every_preset
def test_a_state_is_reordered_by_select(preset: str) -> None:
    model = small_model(preset)
    memory = model.encode(BATCH.source, BATCH.source_mask)
    prepared, state = model.start(memory)
    state = advanced(model, BATCH.target_in[:, :2], state, prepared)
    rows, tokens = torch.tensor([2, 0, 0, 1]), BATCH.target_in[:, 2]
    step = model.step(tokens, state, prepared, want_weights=True)
    chosen = model.step(tokens[rows], state.select(rows), prepared.select(rows), want_weights=True)
    close(chosen.log_probs, step.log_probs[rows])
    close(chosen.weights, None if step.weights is None else step.weights[rows])
    after = model.step(tokens, step.state, prepared).log_probs
    later = model.step(tokens[rows], chosen.state, prepared.select(rows)).log_probs
    close(later, after[rows])
    first = model.step(tokens, model.start(memory)[1], prepared).log_probs
    begun = model.decoder.start(prepared.select(rows))
    close(model.step(tokens[rows], begun, prepared.select(rows)).log_probs, first[rows])
    again, _ = model.start(memory.select(rows))
    close(model.step(tokens[rows], state.select(rows), again).log_probs, step.log_probs[rows])


@every_preset
def test_a_beam_on_one_memory_equals_as_many_sentences(preset: str) -> None:
    model = small_model(preset)
    shared, state = model.start(model.encode(BATCH.source, BATCH.source_mask))
    rows = torch.arange(3).repeat_interleave(4)
    separate = shared.select(rows)
    random = torch.Generator().manual_seed(1)
    tokens = torch.randint(FIRST_WORD, VOCABULARY, (12, 3), generator=random)
    state = state.select(rows)
    for column in tokens.unbind(1):
        one = model.step(column, state, shared, want_weights=True)
        other = model.step(column, state, separate, want_weights=True)
        close(one.log_probs, other.log_probs)
        close(one.weights, other.weights)
        state = one.state
