"""Captioners: their formula in plain loops, every mechanism over a grid, and a bundle in use."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from models.core.config import ModelConfig
from models.core.errors import ModelError
from models.core.types import VocabularySizes
from models.engines.captioner import Captioner, words
from models.networks.encoder_decoder import EncoderDecoder
from models.storage.presets import PRESETS
from models.text.tokenizer import Tokenizer
from tests.models.engines.small import bundle_of, make_images
from tests.models.mechanisms import always_sampled
from tests.models.small import (
    FEATURES,
    VOCABULARY,
    imaged,
    pairs,
    random_model,
    reads_images,
    small_config,
)

SIZES = VocabularySizes(0, VOCABULARY, False)
SOFT, HARD = "show-attend-tell-soft-nano", "show-attend-tell-hard-nano"
PAIRS = pairs([4, 7, 2], [5, 3, 6])
BATCH = PAIRS._replace(source=imaged(PAIRS.source))
CLOSE: dict[str, Any] = {"atol": 1e-4, "rtol": 1e-4}


def model_of(config: ModelConfig) -> EncoderDecoder:
    """Return a model with random weights, no two of them equal."""
    return always_sampled(random_model(config, SIZES)).eval()


# the decoder


def sigmoid(x: Tensor) -> Tensor:
    return 1 / (1 + (-x).exp())


@torch.no_grad()
def test_the_decoder_is_the_papers_formula_in_plain_loops() -> None:
    model = model_of(small_config(SOFT))
    d: Any = model.decoder
    cells = BATCH.source[:1, :4]
    forced = model.teacher_force(BATCH.map(lambda part: part[:1]), want_weights=True)
    assert forced.weights is not None and forced.gates is not None
    a = [cells[0, i] for i in range(4)]
    h, c = d.bridge.map(sum(a) / 4).tanh().chunk(2)  # f_init,h and f_init,c
    score, matrix = d.attention.score, d.recurrence.cells[0].recurrent
    for t, token in enumerate(BATCH.target_in[0].tolist()):
        e = [score.energy @ (score.query(h) + score.key(cell)).tanh() for cell in a]
        alpha = [float(x.exp()) / sum(float(y.exp()) for y in e) for x in e]
        z = sum(weight * cell for weight, cell in zip(alpha, a, strict=True))
        beta = sigmoid(d.gate(h))
        torch.testing.assert_close(forced.gates[0, t], beta[0], **CLOSE)
        z = beta * z
        y = d.embedding.weight[token]
        keep, write, show, new = (d.token_gates(y) + d.context_gates(z) + matrix(h)).chunk(4)
        c = sigmoid(keep) * c + sigmoid(write) * new.tanh()
        h = sigmoid(show) * c.tanh()
        torch.testing.assert_close(
            forced.features[0, t], y + d.state_out(h) + d.context_out(z), **CLOSE
        )
        torch.testing.assert_close(forced.weights[0, t, :4], torch.tensor(alpha), **CLOSE)


# a bundle in use


NANO = [name for name in PRESETS if name.endswith("nano") and reads_images(name)]
captioners = pytest.mark.parametrize("preset", NANO)


@captioners
def test_the_maps_are_those_of_teacher_forcing_word_by_word(
    preset: str, tiny_tokenizer: Tokenizer
) -> None:
    captioner = Captioner(bundle_of(preset, tiny_tokenizer))
    [caption] = captioner.caption(make_images(1), attention=True)
    best, look = caption.hypotheses[0], caption.attention
    assert look is not None and best.ids
    groups = words(best.tokens)
    assert " ".join(look.words).split() == caption.text.split()
    assert look.maps.shape == (len(groups), 4, 4) and look.read == captioner.read_mode
    torch.testing.assert_close(look.maps.sum((1, 2)), torch.ones(len(groups)))
    prepared, state = captioner.model.start(
        captioner.model.encode(
            captioner.features(make_images(1)), torch.ones(1, 16, dtype=torch.bool)
        )
    )
    weights = []
    with torch.no_grad():
        for token in (2, *best.ids[:-1]):
            step = captioner.model.step(torch.tensor([token]), state, prepared, want_weights=True)
            state = step.state
            assert step.weights is not None
            weights.append(step.weights[0])
    for (start, end), found, entropy in zip(groups, look.maps, look.entropy, strict=True):
        mean = torch.stack(weights[start:end]).mean(0)
        mean /= mean.sum()  # without the share of a sentinel
        torch.testing.assert_close(found.flatten(), mean, **CLOSE)
        by_hand = -sum(float(p) * math.log(float(p)) for p in mean if p > 0)
        assert float(entropy) == pytest.approx(by_hand, abs=1e-3)


def test_a_caption_without_words_has_no_maps(tiny_tokenizer: Tokenizer) -> None:
    bundle = bundle_of(SOFT, tiny_tokenizer)
    with torch.no_grad():
        bundle.model.output.bias[3] += 100
    [caption] = Captioner(bundle).caption(make_images(1), attention=True)
    assert caption.text == "" and caption.attention is not None
    assert caption.attention.maps.shape == (0, 4, 4) and caption.attention.words == ()
    assert Captioner(bundle).caption([]) == []


def test_a_transformer_knows_where_a_cell_is() -> None:
    """The same cells in another order are another image; its decoder alone would not see it."""
    model = model_of(small_config("captioner-transformer-nano"))
    cells = torch.randn(1, 16, FEATURES)
    mask = torch.ones(1, 16, dtype=torch.bool)
    with torch.no_grad():
        memory = model.encode(cells, mask)
        turned = model.encode(cells.unflatten(1, (4, 4)).transpose(1, 2).flatten(1, 2), mask)
        assert memory.grid == (4, 4) and memory.values.shape == (1, 16, 16)
        encoder: Any = model.encoder
        rows, columns = encoder.row_embedding, encoder.column_embedding
        by_hand = encoder.project(cells[0, 6]) + rows[1, 0] + columns[0, 2]
        torch.testing.assert_close(memory.values[0, 6], encoder.last_norm(by_hand), **CLOSE)
        one, other = (
            model.decoder.advance(BATCH.target_in[:1], state, prepared).features
            for prepared, state in map(model.start, (memory, turned))
        )
        assert not torch.allclose(one, other, atol=1e-3)
        with pytest.raises(ModelError, match="17 cells.*4 x 4"):
            model.encode(torch.randn(1, 17, FEATURES), torch.ones(1, 17, dtype=torch.bool))
