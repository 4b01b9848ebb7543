"""Captioners: their formula in plain loops, every mechanism over a grid, and a bundle in use."""

from __future__ import annotations

import dataclasses
import itertools
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from PIL import Image
from torch import Tensor

import models
from models.core.config import ModelConfig
from models.core.errors import ModelError
from models.core.types import VocabularySizes
from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines.captioner import FEWEST, Caption, Captioner, in_parts, words
from models.engines.translator import Translator
from models.networks.bundle import Bundle, build, save, sizes_of
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.image_encoder import pretrained_encoder
from models.storage.presets import PRESETS
from models.text.tokenizer import Tokenizer
from tests.models.mechanisms import always_sampled
from tests.models.small import (
    FEATURES,
    VOCABULARY,
    add_noise,
    imaged,
    pairs,
    reads_images,
    small_config,
)

CPU = torch.device("cpu")
SIZES = VocabularySizes(0, VOCABULARY, False)
SOFT, HARD = "show-attend-tell-soft-nano", "show-attend-tell-hard-nano"
PAIRS = pairs([4, 7, 2], [5, 3, 6])
BATCH = PAIRS._replace(source=imaged(PAIRS.source))
IMAGES = BATCH._replace(
    source=torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(1)),
    source_mask=torch.ones(3, 16, dtype=torch.bool),
)
CLOSE: dict[str, Any] = {"atol": 1e-4, "rtol": 1e-4}


def model_of(config: ModelConfig) -> EncoderDecoder:
    """Return a model with random weights, no two of them equal."""
    torch.manual_seed(1)
    model = build(config, SIZES)
    add_noise(model, 0.2)
    return always_sampled(model).eval()


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


@pytest.mark.parametrize("preset", [name for name in PRESETS if reads_images(name)])
def test_gradients_reach_the_image_network_unless_it_is_frozen(preset: str) -> None:
    for frozen in (True, False):
        model = model_of(small_config(preset)).train()
        encoder = pretrained_encoder(model)
        assert encoder is not None
        (encoder.freeze if frozen else encoder.unfreeze)()
        model.log_probs(model.teacher_force(IMAGES)).square().sum().backward()
        for parameter in encoder.body.parameters():
            assert (parameter.grad is None) is frozen
            assert parameter.grad is None or parameter.grad.abs().sum() > 0


# a bundle in use


def bundle_of(preset: str, tokenizer: Tokenizer, **changes: Any) -> Bundle:
    config = dataclasses.replace(small_config(preset), **changes)
    torch.manual_seed(1)
    model = build(config, sizes_of(tokenizer, config.family))
    add_noise(model, 0.2)
    with torch.no_grad():
        model.output.bias[3] -= 2.0  # it says something
    search = SearchConfig(max_caption=12)
    return Bundle(model.eval(), tokenizer, TokenizerConfig(), search)


def make_images(count: int) -> list[Image.Image]:
    random = numpy.random.default_rng(1)
    return [
        Image.fromarray(random.integers(0, 255, (40, 33 + n, 3), numpy.uint8)) for n in range(count)
    ]


def same(one: Caption, other: Caption) -> None:
    assert [h.text for h in one.hypotheses] == [h.text for h in other.hypotheses]
    for a, b in zip(one.hypotheses, other.hypotheses, strict=True):
        assert a.ids == b.ids and a.score == pytest.approx(b.score, abs=1e-4)
    if one.attention is None or other.attention is None:
        assert one.attention is other.attention
        return
    assert one.attention.words == other.attention.words
    torch.testing.assert_close(one.attention.maps, other.attention.maps, **CLOSE)


NANO = [name for name in PRESETS if name.endswith("nano") and reads_images(name)]
SEARCHES = [
    SearchConfig(max_caption=9, nbest=3),
    SearchConfig(method="sample", nbest=2, max_caption=9),
]
captioners = pytest.mark.parametrize("preset", NANO)
searches = pytest.mark.parametrize("search", SEARCHES, ids=["beam", "sample"])


@captioners
@searches
def test_a_caption_does_not_depend_on_the_batch_or_on_cached_features(
    preset: str, search: SearchConfig, tiny_tokenizer: Tokenizer
) -> None:
    captioner = Captioner(bundle_of(preset, tiny_tokenizer))
    images = make_images(5)
    together = captioner.caption(images, search=search, attention=True)
    assert len({caption.text for caption in together}) > 1
    for captions in (
        captioner.caption(images, search=search, attention=True, batch=2),
        [captioner.caption([image], search=search, attention=True)[0] for image in images],
        captioner.caption(images[::-1], search=search, attention=True)[::-1],
    ):
        for one, other in zip(together, captions, strict=True):
            same(one, other)
    if search.method == "beam":
        features = list(captioner.features(images))
        mixed = [images[0], *features[1:4], images[4]]
        for one, other in zip(together, captioner.caption(mixed, search=search), strict=True):
            same(one._replace(attention=None), other)


# each search has one preset, because the division into parts knows neither
@pytest.mark.parametrize(("preset", "search"), [*zip((SOFT, HARD), SEARCHES, strict=True)])
def test_captions_of_several_threads_equal_those_of_one(
    preset: str, search: SearchConfig, tiny_tokenizer: Tokenizer
) -> None:
    captioner = Captioner(bundle_of(preset, tiny_tokenizer))
    images = make_images(11)  # a group of 9 in two parts, and one of 2
    alone = captioner.caption(images, search=search, attention=True, batch=9)
    torch.set_num_threads(2)
    try:
        found = [captioner.caption(images, search=search, attention=True, batch=9) for _ in "ab"]
    finally:
        torch.set_num_threads(1)
    for one, other, again in zip(alone, *found, strict=True):
        same(one, other)
        assert other.hypotheses == again.hypotheses  # to the last bit


def test_one_thread_few_inputs_and_autocast_need_no_other_thread() -> None:
    def is_here(inputs: Sequence[int]) -> bool:
        used = in_parts(lambda part: [threading.current_thread()] * len(part), inputs, CPU)
        return {*used} == {threading.current_thread()}

    many = range(2 * FEWEST + 1)
    torch.set_num_threads(2)
    try:
        assert not is_here(many)
        assert is_here(many[: 2 * FEWEST - 1]) and is_here(many[:1])
        with torch.autocast("cpu"):
            assert is_here(many)
    finally:
        torch.set_num_threads(1)
    assert is_here(many)


def test_batches_are_captioned_in_order(tiny_tokenizer: Tokenizer) -> None:
    captioner = Captioner(bundle_of(SOFT, tiny_tokenizer))
    images = make_images(3)
    found = list(captioner.batches(iter([images[:2], [], images[2:]])))
    assert [len(captions) for captions in found] == [2, 0, 1]
    for one, other in zip(captioner.caption(images), itertools.chain(*found), strict=True):
        same(one, other)


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


def test_pieces_are_grouped_into_words() -> None:
    assert words(()) == []
    assert words(("▁a", "▁do", "g", ".")) == [(0, 1), (1, 4)]
    assert words(("a", "▁", "dog")) == [(0, 1), (1, 3)]


def test_a_caption_without_words_has_no_maps(tiny_tokenizer: Tokenizer) -> None:
    bundle = bundle_of(SOFT, tiny_tokenizer)
    with torch.no_grad():
        bundle.model.output.bias[3] += 100
    [caption] = Captioner(bundle).caption(make_images(1), attention=True)
    assert caption.text == "" and caption.attention is not None
    assert caption.attention.maps.shape == (0, 4, 4) and caption.attention.words == ()
    assert Captioner(bundle).caption([]) == []


def test_a_hard_model_is_read_as_it_is_asked_to_be(tiny_tokenizer: Tokenizer) -> None:
    captioner = Captioner(bundle_of(HARD, tiny_tokenizer))
    looks = {}
    for decode in ("argmax", "sample", "expected"):
        [caption] = captioner.with_read_mode(decode, seed=3).caption(make_images(1), attention=True)
        assert caption.attention is not None and caption.attention.read == f"hard {decode}"
        looks[decode] = caption.attention
    assert captioner.read_mode == "hard argmax"
    one_piece = [m for m in looks["argmax"].maps.flatten(1) if int((m > 0).sum()) == 1]
    assert one_piece and float(looks["expected"].entropy.min()) > 0.1
    with pytest.raises(ModelError, match="not hard"):
        Captioner(bundle_of(SOFT, tiny_tokenizer)).with_read_mode("argmax")


def test_the_wrong_kind_of_model_is_refused_in_one_line(
    tiny_bundle: Path, tiny_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    save(bundle_of(SOFT, tiny_tokenizer), tmp_path)
    with pytest.raises(ModelError, match="captions images.*attn caption"):
        models.load_translator(tmp_path)
    with pytest.raises(ModelError, match="translates texts.*attn translate"):
        models.load_captioner(tiny_bundle)
    assert isinstance(models.load(tiny_bundle), Translator)


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
