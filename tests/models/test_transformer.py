"""The Transformer's blocks equal PyTorch's own, and stand in the order they should."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.base.errors import ModelError
from models.base.settings import from_dict, to_dict
from models.base.types import Memory, VocabularySizes
from models.config import AttentionConfig, ModelConfig
from models.decoders.transformer import DecoderLayer, TransformerDecoder, TransformerMemory
from models.encoders.transformer import EncoderLayer, TransformerEncoder
from models.families.transformer import Transformer
from models.layers import positions
from tests.models.small import add_noise, pairs, small_config

CONFIG = dataclasses.replace(small_config("transformer-nano"), decoder_layers=3)
SIZE = CONFIG.embedding
BATCH = pairs([4, 7, 2], [5, 3, 6])
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


def test_an_encoder_layer_is_pytorchs() -> None:
    torch.manual_seed(1)
    ours: Any = randomised(EncoderLayer(CONFIG))
    theirs = nn.TransformerEncoderLayer(**SHARED)
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


def test_a_decoder_layer_is_pytorchs() -> None:
    torch.manual_seed(1)
    ours: Any = randomised(DecoderLayer(CONFIG))
    theirs = nn.TransformerDecoderLayer(**SHARED)
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


@pytest.mark.parametrize(
    ("attention", "nearest"),
    [
        (AttentionConfig(heads=2), "expected model.heads="),
        (AttentionConfig(score="location_aware"), "score=additive"),
        (AttentionConfig(score="additive", coverage=True), "coverage=true for .*coverage=false"),
        (AttentionConfig(coverage=True), "coverage=true for .*coverage=false"),
        (AttentionConfig(score="location", positions=9), "at least model.max_source"),
    ],
)
@pytest.mark.parametrize("table", ["attention", "self_attention"])
def test_parts_that_a_transformer_cannot_compute_are_refused_with_the_nearest(
    table: str, attention: AttentionConfig, nearest: str
) -> None:
    config = from_dict(ModelConfig, {**to_dict(CONFIG), table: to_dict(attention)})
    with pytest.raises(ModelError, match=nearest) as refused:
        Transformer(config, VocabularySizes(20, 20, True))
    assert table in str(refused.value) and "\n" not in str(refused.value)


def test_hard_self_attention_needs_the_straight_through_gradient() -> None:
    config = dataclasses.replace(CONFIG, self_attention=AttentionConfig(read="hard"))
    with pytest.raises(ModelError, match="read_gradient=straight_through"):
        Transformer(config, VocabularySizes(20, 20, True))
