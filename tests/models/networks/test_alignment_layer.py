"""The alignment layer: a further layer of weights that changes no output."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from models.core.types import Batch, VocabularySizes
from models.engines.ctranslate2_convert import converted
from models.networks.bundle import build
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.transformer import TransformerDecoder
from models.search.batching import pad_pairs
from models.storage.presets import model_config

SIZES = VocabularySizes(30, 30, True)
CONFIG = replace(model_config("transformer-nano"), alignment_layer=True)
SOURCES, TARGETS = [[5, 6, 7, 3], [8, 9, 3]], [[11, 12, 3], [13, 14, 15, 16, 3]]


@pytest.fixture(scope="module")
def model() -> EncoderDecoder:
    """Return a Transformer with an alignment layer."""
    torch.manual_seed(1)
    return build(CONFIG, SIZES).eval()


def batch() -> Batch:
    """Return the pairs as a batch."""
    return pad_pairs(SOURCES, TARGETS, torch.device("cpu"))


@torch.inference_mode()
def test_it_is_one_layer_more_and_never_the_shown_one(model: EncoderDecoder) -> None:
    layers, heads = model.decoder.attention_shape
    assert (layers, heads) == (CONFIG.decoder_layers + 1, CONFIG.heads)
    assert model.decoder.shown_layer < CONFIG.decoder_layers
    found = model.teacher_force(batch(), want_heads=(0, layers - 1))
    assert found.heads is not None and found.heads.shape == (2, 2, heads, 5, 4)
    torch.testing.assert_close(found.heads.sum(-1), torch.ones(2, 2, heads, 5))


@torch.inference_mode()
def test_outputs_are_those_of_the_model_without_it(model: EncoderDecoder) -> None:
    plain = build(replace(CONFIG, alignment_layer=False), SIZES).eval()
    weights = model.state_dict()
    plain.load_state_dict({name: weights[name] for name in plain.state_dict()})
    assert model.teacher_force(batch()).features.equal(plain.teacher_force(batch()).features)


def test_the_weights_of_a_token_follow_the_token_that_is_read(model: EncoderDecoder) -> None:
    """The layer reads x_t: step t has other weights if only the token that it reads differs."""
    decoder = model.decoder
    assert isinstance(decoder, TransformerDecoder) and decoder.aligner is not None
    pair = pad_pairs([SOURCES[0]], [[11, 12, 3]], torch.device("cpu"))
    other = pad_pairs([SOURCES[0]], [[11, 13, 3]], torch.device("cpu"))
    with torch.inference_mode():
        first, second = (
            model.teacher_force(one, want_heads=(CONFIG.decoder_layers,)).heads
            for one in (pair, other)
        )
    assert first is not None and second is not None
    assert first[..., :2, :].allclose(second[..., :2, :])
    assert not first[..., 2, :].allclose(second[..., 2, :])


def test_ctranslate2_translates_without_it(model: EncoderDecoder) -> None:
    weights = {name: tensor.detach().numpy() for name, tensor in model.named_parameters()}
    plain = {name: array for name, array in weights.items() if ".aligner." not in name}
    assert len(plain) < len(weights)
    files = [converted(one, CONFIG, SIZES, positions=20) for one in (weights, plain)]
    assert files[0] == files[1]
