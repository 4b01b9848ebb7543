"""The Transformer's blocks equal PyTorch's own, and stand in the order they should."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, silu

from models.attention.layers import positions
from models.core.config import ImageConfig
from models.core.registry import find
from models.core.types import Memory, VocabularySizes
from models.networks.bundle import build
from models.networks.text_families import Transformer
from models.networks.transformer_decoder import DecoderLayer, TransformerDecoder, TransformerMemory
from models.networks.transformer_encoder import EncoderLayer, TransformerEncoder
from tests.models.mechanisms import transformer
from tests.models.small import add_noise, pairs, small_config

CONFIG = dataclasses.replace(small_config("transformer-nano"), decoder_layers=3)
SIZE = CONFIG.embedding
BATCH = pairs([4, 7, 2], [5, 3, 6])
PUBLISHED = {  # settings, and those of PyTorch's layers
    "pre-norm": ({}, {"norm_first": True}),
    "post-norm": ({"norm": "post"}, {"norm_first": False}),
    "gelu": (
        {"activation": "gelu", "norm_epsilon": 1e-3},
        {"activation": gelu, "layer_norm_eps": 1e-3},
    ),
    "gelu_tanh": ({"activation": "gelu_tanh"}, {"activation": partial(gelu, approximate="tanh")}),
    "swish": ({"activation": "swish", "norm": "post"}, {"activation": silu, "norm_first": False}),
}
published = pytest.mark.parametrize(("settings", "theirs"), PUBLISHED.values(), ids=[*PUBLISHED])
SHARED: dict[str, Any] = {
    "norm_first": True,
    "batch_first": True,
    "dropout": 0.0,
    "nhead": CONFIG.heads,
    "d_model": SIZE,
    "dim_feedforward": CONFIG.hidden,
}


def randomised(module: Any) -> Any:
    add_noise(module, 0.2)
    return module.eval()


def attention_weights(attention: Any) -> dict[str, Tensor]:
    """Our projections under PyTorch's names."""
    inputs = (
        [attention.query, attention.input] if hasattr(attention, "query") else [attention.input]
    )
    return {
        "in_proj_weight": torch.cat([part.weight for part in inputs]),
        "in_proj_bias": torch.cat([part.bias for part in inputs]),
        "out_proj.weight": attention.output.weight,
        "out_proj.bias": attention.output.bias,
    }


def renamed(**parts: Any) -> dict[str, Tensor]:
    """Return the state of a layer of PyTorch's, from its parts."""
    states = {
        name: part if isinstance(part, dict) else part.state_dict() for name, part in parts.items()
    }
    return {
        f"{name}.{key}": value for name, state in states.items() for key, value in state.items()
    }


@published
def test_an_encoder_layer_is_pytorchs(settings: dict[str, Any], theirs: Any) -> None:
    torch.manual_seed(1)
    ours: Any = randomised(EncoderLayer(dataclasses.replace(CONFIG, **settings)))
    theirs = nn.TransformerEncoderLayer(**{**SHARED, **theirs})
    theirs.load_state_dict(
        renamed(
            self_attn=attention_weights(ours.attention),
            norm1=ours.attention_norm,
            norm2=ours.forward_norm,
            linear1=ours.feed_forward.inner,
            linear2=ours.feed_forward.outer,
        )
    )
    x, mask = torch.randn(3, 7, SIZE), BATCH.source_mask
    expected = theirs(x, src_key_padding_mask=~mask)  # in training mode: the plain path
    torch.testing.assert_close(ours(x, mask)[mask], expected[mask], atol=1e-5, rtol=1e-5)


@published
def test_a_decoder_layer_is_pytorchs(settings: dict[str, Any], theirs: Any) -> None:
    torch.manual_seed(1)
    ours: Any = randomised(DecoderLayer(dataclasses.replace(CONFIG, **settings)))
    theirs = nn.TransformerDecoderLayer(**{**SHARED, **theirs})
    theirs.load_state_dict(
        renamed(
            self_attn=attention_weights(ours.self_attention),
            multihead_attn=attention_weights(ours.cross_attention),
            norm1=ours.self_norm,
            norm2=ours.cross_norm,
            norm3=ours.forward_norm,
            linear1=ours.feed_forward.inner,
            linear2=ours.feed_forward.outer,
        )
    )
    x, memory, mask = torch.randn(3, 6, SIZE), torch.randn(3, 7, SIZE), BATCH.source_mask
    causal = torch.ones(6, 6).bool().triu(1)
    expected = theirs(x, memory, tgt_mask=causal, memory_key_padding_mask=~mask)
    prepared = ours.cross_attention.prepare(Memory(memory, mask))
    found, _, _ = ours(x, None, prepared, TransformerMemory((prepared,), mask))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_embeddings_are_scaled_and_positions_count_from_zero() -> None:
    torch.manual_seed(1)
    model = randomised(Transformer(CONFIG, VocabularySizes(30, 30, True)))
    assert isinstance(model.encoder, TransformerEncoder)
    assert isinstance(model.decoder, TransformerDecoder)
    table = model.output.weight  # the one matrix of a joint vocabulary
    code = positions(0, 7, SIZE, torch.device("cpu"))
    x = table[BATCH.source] * SIZE**0.5 + code
    for block in model.encoder.layers:
        x = block(x, BATCH.source_mask)
    memory = model.encode(BATCH.source, BATCH.source_mask)
    torch.testing.assert_close(memory.values, model.encoder.norm(x))

    y = table[BATCH.target_in] * SIZE**0.5 + code[:6]
    for part in model.decoder.layers:
        layer: Any = part
        prepared = layer.cross_attention.prepare(memory)
        y, _, _ = layer(y, None, prepared, TransformerMemory((prepared,), memory.mask))
    torch.testing.assert_close(model.teacher_force(BATCH).features, model.decoder.norm(y))


def test_the_weights_shown_are_the_last_layer_but_ones() -> None:
    torch.manual_seed(1)
    model = randomised(Transformer(CONFIG, VocabularySizes(30, 30, True)))
    before = model.teacher_force(BATCH, want_weights=True).weights
    assert before is not None and isinstance(model.decoder, TransformerDecoder)
    for index, matters in ((2, False), (1, True)):
        layer: Any = model.decoder.layers[index]
        with torch.no_grad():
            layer.cross_attention.query.weight.mul_(3)
        after = model.teacher_force(BATCH, want_weights=True).weights
        assert after is not None and torch.equal(before, after) is not matters


@torch.no_grad()
def test_a_bias_of_the_keys_changes_no_output() -> None:
    model = transformer()
    before, decoder = model.teacher_force(BATCH).features, cast(Any, model.decoder)
    for layer in decoder.layers:
        size = layer.self_attention.sizes[0]
        layer.self_attention.input.bias[size : 2 * size] += 3
        layer.cross_attention.input.bias[:size] += 3
    torch.testing.assert_close(model.teacher_force(BATCH).features, before, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_positions_count_from_the_offset() -> None:
    x = torch.zeros(1, 5, SIZE)
    for name in ("sinusoidal", "sinusoidal_2017"):
        config = dataclasses.replace(CONFIG, position=name)
        later = find("position", name)(dataclasses.replace(config, position_offset=3))
        torch.testing.assert_close(later.added(x, 0), find("position", name)(config).added(x, 3))
    rates = torch.tensor([10_000 ** (-2 * i / SIZE) for i in range(SIZE // 2)])
    torch.testing.assert_close(later.added(x, 0)[0, 1, : SIZE // 2], (4 * rates).sin())


@torch.no_grad()
def test_a_captioner_reads_the_slots_of_a_vision_transformer_as_they_are() -> None:
    image = ImageConfig(encoder="vit", weights="none", size=32, grid="8", width=20, project=False)
    config = dataclasses.replace(
        CONFIG, family="captioner-transformer", encoder_layers=0, image=image
    )
    model = randomised(build(config, VocabularySizes(0, 30, False)))
    images, mask = torch.rand(2, 3, 32, 32), torch.ones(2, 17, dtype=torch.bool)
    memory = model.encode(images, mask)
    assert memory.values.shape == (2, 17, 20)
    alone = model.encode(images[1:], mask[1:]).values
    torch.testing.assert_close(alone, memory.values[1:], atol=1e-5, rtol=1e-5)
    half = model.encoder.features(torch.rand(1, 3, 32, 16))  # other sizes: interpolated positions
    assert half.shape == (1, 9, 20)
