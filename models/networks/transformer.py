"""Transformer blocks: encoders of texts and images, and the decoder with its alignment layer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, interpolate

from models.attention.layers import Embedding, FeedForward, normalisation
from models.attention.mixing import Cache, mixing
from models.attention.multihead import HeadsOutput
from models.attention.positions import position
from models.attention.softmax import masked_softmax
from models.attention.transformer import CrossAttention
from models.core.config import BlocksConfig, ImageConfig, TransformerDecoderConfig
from models.core.errors import ConfigurationError, InputError, intact
from models.core.numerics import Linear, normal_weights
from models.core.types import Looks, Memory
from models.networks.config import VisionTransformerConfig
from models.networks.decoder import NOTHING, Decoder, DecoderOutput, Wanted, default_layer
from models.networks.edgetpu import Cnn, copy_weights
from models.networks.image_encoder import ImageEncoder

SIZE = 16  # default side of a patch in pixels
CrossAttentionKind = Callable[[Any, int], nn.Module]  # built with settings and size of a slot


class NormedLayer(nn.Module):
    """A layer of a Transformer, whose blocks have layer normalisation.

    pre:   x <- x + Block(LayerNorm(x))      Xiong et al. 2020
    post:  x <- LayerNorm(x + Block(x))      Vaswani et al. 2017, section 3.1
    """

    def __init__(self, config: BlocksConfig) -> None:
        super().__init__()
        self.is_post = config.norm == "post"
        self.dropout = nn.Dropout(config.dropout)

    def entered(self, norm: nn.Module, x: Tensor) -> Tensor:
        """Return the input of a block for x (B, T, D)."""
        return x if self.is_post else norm(x)

    def left(self, norm: nn.Module, x: Tensor, block: Tensor) -> Tensor:
        """Return the sum of x and the output of a block, both (B, T, D)."""
        x = x + self.dropout(block).view(x.shape)
        return norm(x) if self.is_post else x


class TransformerEncoder(nn.Module):
    """Token ids to a memory with one slot per token."""

    def __init__(self, embedding: Embedding, config: BlocksConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.position = position(config, in_attention=False)
        self.embedding_norm = normalisation(config, present=config.embedding_norm)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.norm = normalisation(config, present=config.norm == "pre")

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of ids (B, S) with mask (B, S)."""
        x = self.embedding(source)  # (B, S, D)
        x = self.dropout(self.embedding_norm(self.position.added(x, 0)))
        for layer in self.layers:
            x = layer(x, mask)
        return Memory(self.norm(x), mask)


class ImageTransformerEncoder(ImageEncoder):
    """Images, or precomputed features, to a memory of S cells with D features.

    x_rc = W a_rc + row_r + column_c;  then `encoder_layers` self-attention blocks
    Source: Vaswani et al. 2017; positions in two dimensions as in Parmar et al. 2018, learned here.
    """

    def __init__(self, config: Any) -> None:
        """Build it with settings of blocks and of an image."""
        super().__init__(config)
        size, (rows, columns) = config.embedding, self.grid
        config = replace(config, position="none")  # cells have rows and columns
        self.project = Linear(self.value_size, size)
        self.row_embedding = normal_weights(rows, 1, size, deviation=0.02)
        self.column_embedding = normal_weights(1, columns, size, deviation=0.02)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.last_norm = nn.LayerNorm(size)

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of images (B, 3, h, w) or features (B, S, V), mask (B, S)."""
        memory = super().forward(source, mask)
        places = (self.row_embedding + self.column_embedding).flatten(0, 1)  # (rows * columns, D)
        count = memory.values.shape[1]
        if count > len(places):
            raise InputError(
                f"{count} cells", f"{len(places)}, of a grid of {self.grid[0]} x {self.grid[1]}"
            )
        x = self.dropout(self.project(memory.values) + places[:count])
        for layer in self.layers:
            x = layer(x, mask)
        return memory._replace(values=self.last_norm(x), final=None)


class EncoderLayer(NormedLayer):
    """One self-attention block and one feed-forward block."""

    def __init__(self, config: BlocksConfig) -> None:
        super().__init__(config)
        size = config.embedding
        self.attention_norm = normalisation(config)
        self.attention = mixing(config, decodes=False)
        self.forward_norm = normalisation(config)
        self.feed_forward = FeedForward(size, config.hidden, config.dropout, config.activation)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Map x (B, S, D) to (B, S, D)."""
        attended, _ = self.attention(self.entered(self.attention_norm, x), mask)
        x = self.left(self.attention_norm, x, attended)
        block = self.feed_forward(self.entered(self.forward_norm, x))
        return self.left(self.forward_norm, x, block)


class VisionTransformer(Cnn):
    """Vision Transformer: patches, row by row, and a class token that they attend to.

    x_0 = [c; W a_1 + b; ..; W a_N + b] + P, then pre-norm Transformer layers, GELU, FFN of 4 V
    Source: Dosovitskiy, Beyer, Kolesnikov et al. 2021, section 3.1.
    model.image.grid is the side of a patch in pixels (empty: 16). Sizes: model.image.width, layers,
    heads, class_tokens.
    """

    def __init__(self, config: VisionTransformerConfig) -> None:
        super().__init__()
        side = int(config.grid) if config.grid.isdecimal() else 0 if config.grid else SIZE
        if side < 1 or config.size % side:
            raise ConfigurationError(
                f"grid '{config.grid}' of patches in images of {config.size} pixels",
                "the side of a patch in pixels, a divisor of the image's side",
            )
        self.class_slots = 0 if config.project else config.class_tokens
        self.cells, self.width, first = config.size // side, config.width, config.class_tokens
        self.patch = normal_weights(config.width, 3, side, side, deviation=side**-1)  # W
        self.patch_bias = nn.Parameter(torch.zeros(config.width))
        self.class_embedding = normal_weights(first, config.width, deviation=0.02)  # c
        self.position_embedding = normal_weights(
            first + self.cells**2, config.width, deviation=0.02
        )
        layer = BlocksConfig(
            embedding=config.width,
            hidden=4 * config.width,
            heads=config.heads,
            position="none",
            dropout=0.0,
            activation="gelu",
            norm_epsilon=config.norm_epsilon,
        )
        self.layers = nn.ModuleList(EncoderLayer(layer) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width, config.norm_epsilon)

    def forward(self, images: Tensor) -> Tensor:
        """Compute the grid (B, V, h / p, w / p) of images (B, 3, h, w).

        With model.image.project=false all slots (B, V, 1, S), those of class tokens first.
        """
        x = conv2d(images, self.patch, self.patch_bias, stride=self.patch.shape[-1])
        rows, x = x.shape[2:], x.flatten(2).mT  # (B, N, V)
        x = torch.cat([self.class_embedding.expand(len(x), -1, -1), x], 1)
        x = x + self._positions(*rows)
        mask = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x).mT  # (B, V, S)
        if self.class_slots:
            return x.unsqueeze(2)
        return x[:, :, len(self.class_embedding) :].unflatten(2, rows)

    def _positions(self, rows: int, columns: int) -> Tensor:
        """Return positions (S, V), interpolated for an image of another size."""
        first = len(self.class_embedding)
        if rows == columns == self.cells:
            return self.position_embedding
        grid = self.position_embedding[first:].mT.unflatten(1, (self.cells, -1))[None]
        other = interpolate(grid, (rows, columns), mode="bicubic", align_corners=False)
        return torch.cat([self.position_embedding[:first], other[0].flatten(1).mT])

    def grid_shape(self, config: ImageConfig) -> tuple[int, int, int]:
        """Return features of a slot, and rows and columns of the patches."""
        return self.width, self.cells, self.cells

    def load(self, weights: str) -> None:
        """Load weights from a safetensors file with the names of this network."""
        from safetensors.torch import load_file

        with intact(Path(weights), "weights of a vision Transformer in safetensors"):
            stored: Mapping[str, Tensor] = load_file(weights)
        copy_weights(self, stored, weights)


class AlignmentLayer(nn.Module):
    """Attention that only aligns: it reads the decoder and the memory, and changes no output.

    a_t = mean over heads of softmax(Q LN([x_t; h_t]) (K LN(m))^T / sqrt(d))

    x_t is the embedding of the token that step t reads, h_t the state after the first layer, m the
    memory. Because step t has read its token, the weights align this token instead of a guess of
    the next one (shift 1). The layer is trained by links while the rest of the model is frozen, so
    that the translations do not change. Chen et al. 2020, section 3.2 (Shift-AET).
    """

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.token_norm = nn.LayerNorm(size)
        self.state_norm = nn.LayerNorm(size)
        self.memory_norm = nn.LayerNorm(size)
        self.query = Linear(2 * size, size)
        self.key = Linear(size, size)

    def forward(self, tokens: Tensor, states: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Return weights (R, H, T, S).

        tokens, states (R, T, D): embeddings, and states after the first layer; memory (B, S, D),
        mask (B, S). R is a multiple of B.
        """
        times = tokens.shape[0] // memory.shape[0]
        read = torch.cat([self.token_norm(tokens), self.state_norm(states)], -1)
        query = self.query(read).unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (R, H, T, d)
        keys = self.key(self.memory_norm(memory)).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        keys, mask = (part.repeat_interleave(times, 0) for part in (keys, mask))
        scores = query @ keys.mT * query.shape[-1] ** -0.5
        return masked_softmax(scores, mask[:, None, None])


class TransformerMemory(NamedTuple):
    """The memory as every layer's attention has prepared it."""

    layers: tuple[Any, ...]  # keys and values, or those of several memories
    mask: Tensor  # (B, S)
    values: Tensor | None = None  # (B, S, D) of an alignment layer, if there is one
    key: Tensor | None = None  # (B,) hash of each input, if hard attention samples by it
    first: Tensor | None = None  # (B, 1) the first token of each output, if it is given
    looks: Looks | None = None  # see Memory


class TransformerState(NamedTuple):
    """Cache of the prefix for every layer; it is empty before the first token."""

    layers: tuple[Cache, ...]

    @property
    def length(self) -> int:
        """Number of tokens before the next one."""
        return self.layers[0].length


class TransformerDecoder(Decoder[TransformerMemory, TransformerState]):
    """Target prefix and memory to features."""

    def __init__(
        self,
        embedding: Embedding,
        config: TransformerDecoderConfig,
        value_size: int = 0,
        *,
        cross: CrossAttentionKind = CrossAttention,
        aligns: bool = False,
    ) -> None:
        """Build the decoder.

        value_size: features of a slot of the memory, if not D. cross: its attention to the memory.
        aligns: True adds an alignment layer.
        """
        super().__init__()
        self.embedding = embedding
        self.position = position(config, in_attention=False)
        self.embedding_norm = normalisation(config, present=config.embedding_norm)
        self.dropout = nn.Dropout(config.dropout)
        layers = [DecoderLayer(config, value_size, cross) for _ in range(config.decoder_layers)]
        self.layers = nn.ModuleList(layers)
        self.norm = normalisation(config, present=config.norm == "pre")
        self.aligner: AlignmentLayer | None = None
        if aligns:
            self.aligner = AlignmentLayer(config.embedding, config.heads)
        self.attention_shape = (config.decoder_layers + aligns, config.heads)

    @property
    def shown_layer(self) -> int:
        """The layer whose weights are shown by default; never the alignment layer."""
        return default_layer(len(self.layers))

    def up_to(self, layer: int) -> TransformerDecoder:
        """Return the decoder whose last layer is the one of this number; see Decoder."""
        if layer >= len(self.layers):  # the alignment layer
            return self
        other = copy.copy(self)
        other._modules = {**self._modules, "layers": self.layers[: layer + 1], "aligner": None}
        return other

    def read_values(self, memory: Memory) -> Tensor:
        """Return the values of the shown layer's heads, (B, H, S, D); see Decoder."""
        layer = self.layers[self.shown_layer]
        return layer.cross_attention.read_values(memory)  # type: ignore

    def prepare(self, memory: Memory) -> TransformerMemory:
        """Compute keys and values of the memory for every layer."""
        layers = tuple(layer.cross_attention.prepare(memory) for layer in self.layers)  # type: ignore
        values = memory.values if self.aligner else None
        return TransformerMemory(
            layers, memory.mask, values, memory.key, memory.first, memory.looks
        )

    def start(self, prepared: TransformerMemory) -> TransformerState:
        """Return the state of an empty prefix."""
        pairs = zip(self.layers, prepared.layers, strict=True)
        return TransformerState(
            tuple(layer.self_attention.empty(memory.values) for layer, memory in pairs)  # type: ignore
        )

    def advance(
        self,
        tokens: Tensor,
        state: TransformerState,
        prepared: TransformerMemory,
        wanted: Wanted = NOTHING,
    ) -> DecoderOutput:
        """Read tokens (R, T). With a prefix in the state, T must be 1."""
        embedded = x = self.embedding(tokens)  # (R, T, D)
        x = self.dropout(self.embedding_norm(self.position.added(x, state.length)))
        shown = [self.shown_layer] if wanted.weights else []
        seen, found, states, reads = [], {}, [], []
        for index, (layer, cache) in enumerate(zip(self.layers, state.layers, strict=True)):
            asked, past = index in shown or index in wanted.heads, cache if state.length else None
            x, cached, read = layer(x, past, prepared.layers[index], prepared, asked)
            seen.append(cached)
            states.append(x)
            reads.append(read)
            if asked:  # (B, H, K * T, S)
                by_row = read.weights.unflatten(2, (-1, tokens.shape[1])).transpose(1, 2)
                found[index] = by_row.flatten(0, 1)  # (R, H, T, S)
        if self.aligner and len(self.layers) in wanted.heads:
            assert prepared.values is not None
            last = self.aligner(embedded, states[0], prepared.values, prepared.mask)
            found[len(self.layers)] = last
        return DecoderOutput(
            self.norm(x),
            TransformerState(tuple(seen)),
            found[shown[0]].mean(1) if shown else None,
            total([read.log_prob for read in reads], tokens),
            total([read.entropy for read in reads], tokens),
            heads=torch.stack([found[index] for index in wanted.heads], 1)
            if wanted.heads
            else None,
        )


def total(parts: list[Tensor | None], tokens: Tensor) -> Tensor | None:
    """Return the sum over layers, of the shape of tokens (R, T); None if the layers have none."""
    known = [part for part in parts if part is not None]
    return torch.stack(known).sum(0).view(tokens.shape) if known else None


class DecoderLayer(NormedLayer):
    """One block each of self-attention, cross-attention and feed-forward."""

    def __init__(
        self, config: TransformerDecoderConfig, value_size: int, cross: CrossAttentionKind
    ) -> None:
        super().__init__(config)
        size = config.embedding
        self.self_norm = normalisation(config)
        self.self_attention = mixing(config, decodes=True)
        self.cross_norm = normalisation(config)
        self.cross_attention = cross(config, value_size)
        self.forward_norm = normalisation(config)
        self.feed_forward = FeedForward(size, config.hidden, config.dropout, config.activation)

    def forward(
        self,
        x: Tensor,
        past: Cache | None,
        memory: Any,
        source: TransformerMemory,
        want_weights: bool = False,
    ) -> tuple[Tensor, Cache, HeadsOutput]:
        """Return the output (R, T, D), the cache, and what cross-attention read, for K * T queries.

        memory: as this layer has prepared it.
        """
        start, steps = 0 if past is None else past.length, x.shape[1]
        attended, seen = self.self_attention(self.entered(self.self_norm, x), None, past)
        x = self.left(self.self_norm, x, attended)
        query = self.entered(self.cross_norm, x)
        query = query.reshape(source.mask.shape[0], -1, x.shape[2])  # (B, K * T, D)
        attended, read = self.cross_attention(
            query,
            memory,
            source.mask,
            start=start,
            steps=steps,
            key=source.key,
            looks=source.looks,
            want_weights=want_weights,
        )
        x = self.left(self.cross_norm, x, attended)
        block = self.feed_forward(self.entered(self.forward_norm, x))
        return self.left(self.forward_norm, x, block), seen, read
