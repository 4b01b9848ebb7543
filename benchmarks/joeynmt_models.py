"""Models that JoeyNMT 2.3.0 and attn both have: configuration of the peer, and weights for it.

transformer-tiny    pre-norm Transformer, 4+4 layers of 128
gru-bahdanau        bidirectional GRU of 256, GRU decoder with input feeding, additive attention
gru-luong           the same with Luong's general score

JoeyNMT's recurrent decoder is Luong's (attention after the recurrence): family `luong` here.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Tensors = dict[str, Any]
BEAM, LENGTH_PENALTY = 5, 1.0  # of the searches of both programs
NAMES = {  # layers of a Transformer: ours, and JoeyNMT's
    ".attention_norm.": ".layer_norm.",
    ".self_norm.": ".x_layer_norm.",
    ".cross_norm.": ".dec_layer_norm.",
    ".forward_norm.": ".feed_forward.layer_norm.",
    "coder.norm.": "coder.layer_norm.",
    ".attention.": ".src_src_att.",
    ".self_attention.": ".trg_trg_att.",
    ".cross_attention.": ".src_trg_att.",
    ".query.": ".q_layer.",
    ".output.": ".output_layer.",
    ".inner.": ".pwff_layer.0.",
    ".outer.": ".pwff_layer.3.",
}
RECURRENT_NAMES = {
    "decoder.recurrence.cells.0.recurrent.weight": "decoder.rnn.weight_hh_l0",
    "decoder.recurrence.cells.0.recurrent.bias": "decoder.rnn.bias_hh_l0",
    "decoder.token_gates.bias": "decoder.rnn.bias_ih_l0",
    "decoder.bridge.map.weight": "decoder.bridge_layer.weight",
    "decoder.bridge.map.bias": "decoder.bridge_layer.bias",
    "decoder.attention.score.query.weight": "decoder.attention.query_layer.weight",
    "decoder.attention.score.key.weight": "decoder.attention.key_layer.weight",
}
NOT_THERE = ("output.bias", "decoder.attention.score.key.bias")  # biases that JoeyNMT lacks
TRANSFORMER = """
  initializer: xavier_uniform
  embed_initializer: xavier_uniform
  encoder: &transformer
    {type: transformer, num_layers: 4, num_heads: 4, hidden_size: 128, ff_size: 256, dropout: 0.3,
     embeddings: {embedding_dim: 128, scale: True, dropout: 0.3}, layer_norm: pre}
  decoder: *transformer
"""
RECURRENT = """
  encoder: {<<: &gru {type: recurrent, rnn_type: gru, num_layers: 1, hidden_size: 256, dropout: 0.4,
    embeddings: {embedding_dim: 256, scale: False, dropout: 0.4}}, bidirectional: True}
  decoder: {<<: *gru, hidden_dropout: 0.4, attention: NAME, init_hidden: bridge,
    input_feeding: True}
"""


class Shared(NamedTuple):
    """A model of both programs."""

    preset: str  # of attn
    settings: tuple[str, ...]  # of attn, beyond the preset
    peer: str  # model section of JoeyNMT's configuration


SHARED = {
    "transformer-tiny": Shared("transformer-tiny", (), TRANSFORMER),
    "gru-bahdanau": Shared(
        "luong-small",
        ("model.cell=gru", "model.attention.score=additive"),
        RECURRENT.replace("NAME", "bahdanau"),
    ),
    "gru-luong": Shared("luong-small", ("model.cell=gru",), RECURRENT.replace("NAME", "luong")),
}


def searched(lines: Sequence[str], beam: int, length_penalty: float, limit: int) -> str:
    """Return a text that is equal for two programs only if they search alike in equal lines."""
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return (
        f"{len(lines)} lines (SHA-256 {digest[:12]}), beam {beam}, length penalty "
        f"{length_penalty:g}, at most {limit} tokens"
    )


def peer_state(weights: Tensors, order: list[int]) -> Iterator[tuple[str, Any]]:
    """Yield our weights under JoeyNMT's names and in its shapes; order: our ids of its tokens."""
    matrix = weights["encoder.embedding.weight"][order]  # (Y, D), one for all three
    for name in ("src_embed.lut", "trg_embed.lut", "decoder.output_layer"):
        yield f"{name}.weight", matrix
    recurrent = "decoder.token_gates.weight" in weights
    yield from recurrent_state(weights) if recurrent else transformer_state(weights)


def transformer_state(weights: Tensors) -> Iterator[tuple[str, Any]]:
    """Yield the layers of a Transformer."""
    import torch

    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from models.layers import positions

    size = weights["encoder.embedding.weight"].shape[1]
    table = positions(0, 5000, size, torch.device("cpu"))
    for name in ("encoder", "decoder"):
        yield f"{name}.pe.pe", table[None]
    for name, tensor in weights.items():
        for ours, theirs in NAMES.items():
            name = name.replace(ours, theirs)
        if ".input." in name:  # [Q;] K; V in one matrix here, in one each there
            parts = tensor.split(size)
            for part, letter in zip(parts, "qkv"[-len(parts) :], strict=True):
                yield name.replace(".input.", f".{letter}_layer."), part.clone()
        elif ".layers." in name or ".layer_norm." in name:
            yield name, tensor


def recurrent_state(weights: Tensors) -> Iterator[tuple[str, Any]]:
    """Yield encoder, recurrence and attention of a recurrent model."""
    import torch

    for name, tensor in weights.items():
        if name.startswith("encoder.rnn."):
            yield name, tensor
        elif name in RECURRENT_NAMES:
            yield RECURRENT_NAMES[name], tensor
    gates = [weights[f"decoder.{part}_gates.weight"] for part in ("token", "feed")]
    yield "decoder.rnn.weight_ih_l0", torch.cat(gates, 1)  # of [token; attentional vector]
    combine, hidden = weights["decoder.combine.weight"], gates[1].shape[0] // 3
    context = combine.shape[1] - hidden  # ours [context; state], there [state; context]
    yield "decoder.att_vector_layer.weight", torch.cat(combine.split([context, hidden], 1)[::-1], 1)
    yield "decoder.att_vector_layer.bias", combine.new_zeros(len(combine))
    if (energy := weights.get("decoder.attention.score.energy")) is not None:
        yield "decoder.attention.energy_layer.weight", energy[None]
