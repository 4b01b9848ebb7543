"""Largest absolute difference between members of this program and public implementations.

    pip install captum entmax x-transformers
    python benchmarks/parity.py

The inputs are random numbers of a fixed seed, in fp32. A row whose package is not installed is left
out. A test holds the differences below 1e-5.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from models.attention.normalisers import Entmax15, Sparsemax
from models.attention.positions import Alibi, Rotary
from models.attention.scores import Cosine, QkNorm
from models.attention.transformer import CrossAttention
from models.core.attention_config import AttentionConfig, TransformerAttentionConfig
from models.core.registry import find
from models.core.types import Memory, VocabularySizes
from models.explain.methods import STEPS, gradient_times_input, integrated_gradients
from models.explain.subject import TextSubject
from models.networks.bundle import build
from models.networks.config import TransformerConfig
from models.storage.presets import model_config

HEADS, SIZE = 4, 32


class Row(NamedTuple):
    """A member, a package that has it, and the pair of both results."""

    member: str
    package: str
    peer: str
    results: Callable[[], tuple[Tensor, Tensor]]


def main() -> None:
    """Print the table."""
    print("| member | public implementation | largest difference |\n|---|---|---:|")
    for row in ROWS:
        if importlib.util.find_spec(row.package):
            print(f"| {row.member} | {row.peer} | {difference(row):.1e} |")


def difference(row: Row) -> float:
    """Return the largest absolute difference of a row."""
    torch.manual_seed(1)
    own, other = row.results()
    assert own.shape == other.shape
    return float((own - other).abs().max())


@torch.no_grad()
def multi_head(*, null_slot: bool = False) -> tuple[Tensor, Tensor]:
    """Read a memory with several heads. The peer has the same projections.

    null_slot: add a slot of value 0. Its score is 0, as that of the peer.
    """
    own = TransformerAttentionConfig.of(null_slot=null_slot)
    attention = CrossAttention(TransformerConfig(embedding=SIZE, heads=HEADS, attention=own)).eval()
    peer = nn.MultiheadAttention(SIZE, HEADS, batch_first=True, add_zero_attn=null_slot).eval()
    maps = (attention.query, attention.input)
    peer.in_proj_weight.copy_(torch.cat([each.weight for each in maps]))
    peer.in_proj_bias.copy_(torch.cat([each.bias for each in maps]))
    peer.out_proj.load_state_dict(attention.output.state_dict())
    query, memory = torch.randn(2, 5, SIZE), torch.randn(2, 7, SIZE)
    mask = torch.arange(7) < torch.tensor([[7], [4]])
    found, _ = attention(query, attention.prepare(Memory(memory, mask)), mask)
    expected, _ = peer(query, memory, memory, key_padding_mask=~mask)
    return found, expected


@torch.no_grad()
def grouped() -> tuple[Tensor, Tensor]:
    """Read a memory with four heads that share two heads of keys and values."""
    config = TransformerConfig(
        embedding=SIZE, heads=HEADS, attention=TransformerAttentionConfig.of(kv_heads=2)
    )
    attention = CrossAttention(config).eval()
    query, memory = torch.randn(2, 5, SIZE), torch.randn(2, 7, SIZE)
    mask = torch.ones(2, 7).bool()
    slots = attention.prepare(Memory(memory, mask))
    found, _ = attention(query, slots, mask)
    heads = attention.split(attention.query(query))
    return found, attention.merged(scaled_dot_product_attention(heads, *slots, enable_gqa=True))


@torch.no_grad()
def scored(name: str, peer: Callable[[nn.Module, Tensor, Tensor], Tensor]) -> tuple[Tensor, Tensor]:
    """Score 7 slots with 5 queries. peer: scores (B, T, S) of pairs (B, T, S, D)."""
    score = find("score", name)(SIZE, SIZE, AttentionConfig.of(score=name))
    query, slots = torch.randn(2, 5, SIZE), torch.randn(2, 7, SIZE)
    pairs = query[:, :, None].expand(-1, -1, 7, -1), slots[:, None].expand(-1, 5, -1, -1)
    return score(query, score.prepare(slots)), peer(score, *(pair.contiguous() for pair in pairs))


def by_bilinear(score: nn.Module, query: Tensor, slots: Tensor) -> Tensor:
    """Compute the bilinear form of the score's matrix."""
    return nn.functional.bilinear(query, slots, score.get_parameter("key.weight")[None])[..., 0]


def by_cosine(score: nn.Module, query: Tensor, slots: Tensor) -> Tensor:
    """Compute the cosine, times the sharpness or the scale of the score."""
    cosine = nn.functional.cosine_similarity(query, slots, -1)
    if isinstance(score, QkNorm):
        return score.scale * cosine
    assert isinstance(score, Cosine)
    return nn.functional.softplus(score.sharpness(query)[..., 0]) * cosine


def normalised(own: nn.Module, peer: str) -> tuple[Tensor, Tensor]:
    """Normalise scores."""
    import entmax

    scores = 3 * torch.randn(4, 6, 9)
    return own(scores, torch.ones_like(scores).bool()), getattr(entmax, peer)(scores, -1)


def rotary() -> tuple[Tensor, Tensor]:
    """Turn queries. The peer pairs features 2 j and 2 j + 1, this program j and j + d/2."""
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    query = torch.randn(2, HEADS, 9, SIZE // HEADS)
    own = Rotary(TransformerConfig(embedding=SIZE, heads=HEADS)).turned(query, 0)
    angles, _ = RotaryEmbedding(SIZE // HEADS).forward_from_seq_len(9)
    interleaved = torch.stack(query.chunk(2, -1), -1).flatten(-2)
    turned = apply_rotary_pos_emb(interleaved, angles).unflatten(-1, (-1, 2))
    return own, torch.cat(turned.unbind(-1), -1)


def alibi() -> tuple[Tensor, Tensor]:
    """Compute the penalty on the distance."""
    from x_transformers.x_transformers import AlibiPositionalBias

    query = torch.randn(1, HEADS, 9, SIZE // HEADS)
    own = Alibi(TransformerConfig(embedding=SIZE, heads=HEADS)).bias(query, 0, 9)
    return own[0], AlibiPositionalBias(HEADS)(9, 9)


def subject() -> TextSubject:
    """Return a translation by a small Transformer with random weights: 5 words in, 4 out."""
    model = build(model_config("transformer-nano"), VocabularySizes(30, 30, True)).eval()
    source, target = torch.randint(4, 30, (2, 5)).tolist()
    return TextSubject(model, source, target[:4], torch.arange(5), torch.eye(4))


def by_captum(kind: str, found: TextSubject, **options: Any) -> Tensor:
    """Return the relevances (J, I) by a method of Captum, which explains one word at a time."""
    import captum.attr

    explain = getattr(captum.attr, kind)
    vectors, rows = found.vectors[None].requires_grad_(), []
    for number in range(len(found.words)):

        def word(vectors: Tensor, number: int = number) -> Tensor:
            return found.log_probs(vectors)[:, number]

        rows.append(explain(word).attribute(vectors, **options)[0].sum(-1))
    return torch.stack(rows).detach()


def gradient() -> tuple[Tensor, Tensor]:
    """Multiply gradients with inputs."""
    found = subject()
    return gradient_times_input(found), by_captum("InputXGradient", found)


def integrated() -> tuple[Tensor, Tensor]:
    """Integrate gradients from the zero vector, by the same quadrature."""
    found = subject()
    options = {"n_steps": STEPS, "method": "gausslegendre"}
    return integrated_gradients(found, STEPS), by_captum("IntegratedGradients", found, **options)


ROWS = (
    Row("multi-head attention", "torch", "torch.nn.MultiheadAttention", multi_head),
    Row("grouped queries", "torch", "scaled_dot_product_attention, enable_gqa", grouped),
    Row(
        "null slot",
        "torch",
        "MultiheadAttention, add_zero_attn",
        lambda: multi_head(null_slot=True),
    ),
    Row("general", "torch", "torch.nn.functional.bilinear", lambda: scored("general", by_bilinear)),
    Row("cosine", "torch", "cosine_similarity", lambda: scored("cosine", by_cosine)),
    Row("qk_norm", "torch", "cosine_similarity", lambda: scored("qk_norm", by_cosine)),
    Row("sparsemax", "entmax", "entmax.sparsemax", lambda: normalised(Sparsemax(), "sparsemax")),
    Row("entmax15", "entmax", "entmax.entmax15", lambda: normalised(Entmax15(), "entmax15")),
    Row("rotary", "x_transformers", "x_transformers RotaryEmbedding", rotary),
    Row("alibi", "x_transformers", "x_transformers AlibiPositionalBias", alibi),
    Row("gradient times input", "captum", "captum InputXGradient", gradient),
    Row("integrated gradients", "captum", "captum IntegratedGradients", integrated),
)


if __name__ == "__main__":
    main()
