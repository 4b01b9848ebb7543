"""Self-attention and cross-attention of a Transformer: several heads with input and output maps.

All steps are computed at once, so no part can need the weights of earlier steps.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from models.attention.base import check_slots, is_monotonic, uses_coverage, with_score
from models.attention.multihead import HeadsOutput, KeyValue, MultiHead, Visible, repeated
from models.attention.positions import position
from models.attention.softmax import History
from models.core.attention_config import AttentionConfig, TransformerAttentionConfig
from models.core.config import BlocksConfig, TransformerDecoderConfig
from models.core.errors import ConfigurationError
from models.core.numerics import Linear
from models.core.registry import find
from models.core.types import Looks, Memory


class TransformerHeads(MultiHead):
    """Several heads that compute all steps at once."""

    output: Linear

    def __init__(self, config: BlocksConfig, table: str) -> None:
        composed, size = composition(config, table), config.embedding
        check_at_once(composed, table)
        super().__init__(size, size, composed)
        self.shared_size = size // self.count * self.shared  # of all keys, and of all values
        check_slots(self.max_slots, config, table)

    def merged(self, x: Tensor) -> Tensor:
        """Merge heads (B, H, T, d) by the output projection to (B, T, D)."""
        return self.output(x.transpose(1, 2).flatten(2))


class SelfAttention(TransformerHeads):
    """Attention: every token reads all others, a decoder's the prefix, by model.self_attention.

    MultiHead(x, x, x)
    Source: Vaswani et al. 2017, section 3.2.3.
    In stepwise decoding it also attends to the cached prefix.
    """

    decodes_only = False

    def __init__(self, config: BlocksConfig) -> None:
        super().__init__(config, "self_attention")
        self.position = position(config, in_attention=True)
        if self.position.turns and not self.first.score.is_product:
            raise ConfigurationError(
                f"model.position={config.position} with model.self_attention.score="
                f"{config.self_attention.score}, "
                "although a rotation keeps only products of query and key",
                "model.self_attention.score=scaled_dot, dot, cosine or qk_norm",
                "or model.position=alibi, which suits every score",
            )
        self.sizes = (config.embedding, self.shared_size, self.shared_size)
        self.input = Linear(config.embedding, sum(self.sizes))  # Q; K; V at once
        self.output = Linear(config.embedding, config.embedding)

    def empty(self, values: Tensor) -> KeyValue:
        """Return keys and values of no slots, for the rows of values (B, ..)."""
        size = self.output.weight.shape[1] // self.count
        nothing = values.new_zeros(values.shape[0], self.shared, 0, size)
        return self.prepared(nothing, nothing)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: KeyValue | None = None
    ) -> tuple[Tensor, KeyValue]:
        """Compute the output (B, T, D), and all keys and values so far; see `read`."""
        found, seen = self.read(x, mask, past)
        return self.merged(found.context), seen

    def read(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        past: KeyValue | None = None,
        *,
        want_weights: bool = False,
    ) -> tuple[HeadsOutput, KeyValue]:
        """Return what the heads read for x (B, T, D), and all keys and values so far.

        Without mask and past, the attention is causal. With a mask (B, S), it attends in both
        directions. With a past, T must be 1.
        """
        start = 0 if past is None else past.keys.shape[2]
        query, *shared = self.input(x).split(self.sizes, -1)
        query, keys, values = self.split(query), *map(self.split_shared, shared)
        query, keys = (self.position.turned(part, start) for part in (query, keys))
        new = self.prepared(keys, values)
        seen = new
        if past is not None:
            seen = KeyValue(*(torch.cat(both, 2) for both in zip(past, new, strict=True)))
        bias = self.position.bias(query, start, seen.keys.shape[2])
        visible = Visible(mask, mask is None and past is None and x.shape[1] > 1, bias)
        return self.attend(query, seen, visible, want_weights=want_weights), seen


class CrossAttention(TransformerHeads):
    """Attention of the decoder to the memory, whose keys and values are computed once."""

    def __init__(self, config: TransformerDecoderConfig, value_size: int = 0) -> None:
        """Build the attention. value_size: features of a slot of the memory, if not D."""
        super().__init__(config, "attention")
        self.query = Linear(config.embedding, config.embedding)
        self.input = Linear(value_size or config.embedding, 2 * self.shared_size)  # K; V at once
        self.output = Linear(config.embedding, config.embedding)

    def prepare(self, memory: Memory) -> KeyValue:
        """Compute keys and values of the memory."""
        return self.prepared(*map(self.split_shared, self.input(memory.values).chunk(2, -1)))

    def past(self, query: Tensor, start: int, steps: int, key: Tensor | None) -> History | None:
        """Return the histories (B, T, H, ..) of queries (B, H, T, d); None if unused.

        Each `steps` queries are consecutive, from step `start`. key (B,): see PreparedMemory.
        """
        if not self.needs_history:
            return None
        rows, _, count, _ = query.shape
        key = query.new_zeros(rows, dtype=torch.float32) if key is None else key.float()
        each = torch.arange(count, device=query.device) % steps + start
        random = self.first.read.begin(key)[:, None].expand(rows, count)
        return History.at(each.float().expand(rows, count), random).for_heads(self.count)

    def read_values(self, memory: Memory) -> Tensor:
        """Return what each head's weights multiply (B, H, S, D), output map included."""
        each = self.output.weight.unflatten(1, (self.count, -1))  # (D, H, d)
        values = repeated(self.prepare(memory).values, self.count)
        return torch.einsum("bhsv,dhv->bhsd", values, each)

    def forward(
        self,
        x: Tensor,
        memory: KeyValue,
        mask: Tensor,
        *,
        start: int = 0,
        steps: int | None = None,
        key: Tensor | None = None,
        looks: Looks | None = None,
        want_weights: bool = False,
    ) -> tuple[Tensor, HeadsOutput]:
        """Compute the output (B, T, D) for x (B, T, D), and what the heads did; mask (B, S).

        start, steps, key: see `past`; the default is one sequence of steps. looks: see Memory.
        """
        query = self.split(self.query(x))
        history = self.past(query, start, steps or x.shape[1], key)
        visible = Visible(mask, looks=looks)
        found = self.attend(query, memory, visible, history, want_weights=want_weights)
        return self.merged(found.context), found


def composition(config: BlocksConfig, table: str) -> AttentionConfig:
    """Return the settings of an attention of a Transformer, with its heads and its score."""
    own: AttentionConfig = TransformerAttentionConfig.of(**vars(getattr(config, table)))
    if own.heads != 1:
        raise ConfigurationError(
            f"model.{table}.heads={own.heads} for a Transformer", f"model.heads={own.heads}"
        )
    return replace(with_score(own), heads=config.heads)


def check_at_once(config: AttentionConfig, table: str) -> None:
    """Raise ConfigurationError for parts that need the weights of earlier steps."""
    without = "coverage=false"
    if table == "attention":
        without += ", with train.attention.coverage=see for a penalty in its place"
    for refused, setting, nearest in (
        (uses_coverage(config), "coverage=true", without),
        (is_monotonic(config), f"normalise={config.normalise}", "normalise=softmax"),
        (find("score", config.score).sequential, f"score={config.score}", "score=additive"),
    ):
        if refused:
            raise ConfigurationError(
                f"model.{table}.{setting} for a Transformer, which computes all steps at once, "
                "although this part needs the weights of earlier steps",
                f"model.{table}.{nearest}",
                "or a recurrent family, such as rnnsearch",
            )
