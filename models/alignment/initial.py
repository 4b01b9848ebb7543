"""Initial Transformer that aligns before it is trained: its embeddings are learned from links.

Tokens that are linked often get similar vectors: with C the symmetric counts of linked tokens,

    D^-1/2 C D^-1/2  =~  E E^T,    E (V, D) from its D largest eigenvalues

The first head of the first decoder layer compares query and slot by the identity, so its weights
are a softmax of the similarity of the token that is read with every source token. All sublayers
begin with outputs of 0, and do not disturb this comparison.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.decoders.transformer import DecoderLayer, TransformerDecoder
from models.model import EncoderDecoder

ROUNDS = 12  # of subspace iteration
NORM = 1.5  # of an embedding; position codes then take a fifth of a comparison


def linked_embeddings(links: Tensor, counts: Tensor, vocabulary: int, size: int) -> Tensor:
    """Return the embeddings (V, D) of tokens, by subspace iteration; 0 for tokens without links.

    links (2, M): pairs of linked tokens; counts (M,). Rows have the norm NORM.
    """
    index = torch.cat([links, links.flip(0)], 1)
    values = torch.cat([counts, counts]).float()
    total = torch.zeros(vocabulary).index_add_(0, index[0], values)
    scale = total.clamp_min(1e-6).rsqrt()
    table = torch.sparse_coo_tensor(
        index,
        values * scale[index[0]] * scale[index[1]],
        (vocabulary, vocabulary),
        check_invariants=True,
    ).coalesce()
    width = min(vocabulary, size + size // 2)
    generator = torch.Generator().manual_seed(1)
    basis = torch.randn(vocabulary, width, generator=generator)
    for _ in range(ROUNDS):  # adding the basis prefers positive eigenvalues
        basis = torch.linalg.qr(torch.sparse.mm(table, basis) + basis)[0]
    inside = basis.T @ torch.sparse.mm(table, basis)  # (width, width)
    values, vectors = torch.linalg.eigh((inside + inside.T) / 2)
    best = values.argsort(descending=True)[:size]
    found = torch.zeros(vocabulary, size)
    found[:, : len(best)] = basis @ vectors[:, best] * values[best].clamp_min(0).sqrt()
    rows = found.norm(dim=1, keepdim=True)
    return torch.where(total[:, None] > 0, NORM * found / rows.clamp_min(1e-9), 0.0)


@torch.no_grad()
def initialise_to_align(model: EncoderDecoder, embeddings: Tensor) -> None:
    """Let the first head of the first decoder layer of a Transformer compare linked embeddings.

    embeddings (V, D) of the joint vocabulary; rows of 0 keep their random vectors.
    """
    decoder = model.decoder
    assert isinstance(decoder, TransformerDecoder)
    known = embeddings.norm(dim=1) > 0
    decoder.embedding.weight[known] = embeddings[known]
    for name, parameter in model.named_parameters():
        if name.endswith(("attention.output.weight", "feed_forward.outer.weight")):
            parameter.zero_()
    first = decoder.layers[0]
    assert isinstance(first, DecoderLayer) and first.cross_attention.query is not None
    size = embeddings.shape[1]
    rows = size // first.cross_attention.heads
    for matrix in (first.cross_attention.query.weight, first.cross_attention.input.weight):
        matrix[:rows] = torch.eye(size)[:rows]
