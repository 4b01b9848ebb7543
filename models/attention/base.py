"""Attention(query, keys, values) = Read(Normalise(Window(Score(query, keys))), values).

Four parts, each chosen by name at construction. Masking happens only here, so padded slots have
weight zero in every variant. A part that depends on earlier steps receives them as a History, which
the decoder keeps in its state; the parts themselves store nothing between steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.attention.config import AdditiveConfig
from models.attention.softmax import History, NullSlot, grouped
from models.core.attention_config import AttentionConfig
from models.core.config import TextConfig
from models.core.errors import ConfigurationError, InputError
from models.core.registry import find
from models.core.settings import check_limits
from models.core.types import AttentionOutput, Looks, Memory


class Score(nn.Module):
    """F(query, key): the relevance of a slot to a query, before normalisation.

    A score that sets `needs_history` is called with the history, (B, T, ..), as a third argument.
    """

    needs_history = False
    sequential = False  # True if it needs earlier weights, so that steps cannot be computed at once
    needs_equal_sizes = False  # True if query and keys must have the same size
    uses_keys = True  # False if the scores do not depend on the keys
    is_product = False  # True if a rotation of both query and key changes no score
    max_slots: int | None = None  # maximum source length in slots

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__()
        if self.needs_equal_sizes and query_size != key_size:
            raise ConfigurationError(
                f"score '{config.score}' with a query of {query_size} and keys of {key_size}",
                "equal sizes",
                "use score 'general', or 2 heads or more, which project both",
            )

    def prepare(self, values: Tensor) -> Tensor:
        """Compute keys (B, S, K) from the memory's values (B, S, V), once per source."""
        return values

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S) of queries (B, T, Q) against prepared keys (B, S, K)."""
        raise NotImplementedError


class WindowOutput(NamedTuple):
    """Slots inside a window."""

    slots: Tensor  # (B, T, S) or (B, 1, S), True for slots inside
    share: Tensor | None = None  # (B, T, S) factor on the normalised weights

    def looked(self, looks: Looks | None, mask: Tensor) -> WindowOutput:
        """Return the slots that a look allows, too. A look outside of the window replaces it.

        mask: slots that a query can see, (B, 1 or T, S).
        """
        if looks is None or (allowed := looks.allowed()) is None:
            return self
        slots = self.slots & allowed  # (B, T, S)
        reached = slots.any(-1, keepdim=True)
        # far outside its window, the factor of local_p would be almost 0
        share = None if self.share is None else self.share.masked_fill(~reached, 1.0)
        return WindowOutput(slots.where(reached, allowed & mask), share)


class Window(nn.Module):
    """Window: the slots that a query can attend to. If `needs_history`, it depends on the step."""

    needs_history = False
    sequential = False  # as of a score

    def __init__(self, query_size: int, config: AttentionConfig) -> None:
        super().__init__()

    def forward(self, query: Tensor, mask: Tensor, history: History | None) -> WindowOutput:
        """Return the slots in the window of queries (B, T, Q).

        mask: slots that a query can see, (B, 1, S), or (B, T, S) where this depends on the query.
        """
        raise NotImplementedError


class Read(nn.Module):
    """Combination of the values by the weights.

    A read that sets `needs_history` is called with the history, (B, T, ..), as a third argument.
    """

    needs_history = False
    sequential = False  # as of a score

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()

    def begin(self, key: Tensor) -> Tensor:
        """Return a number (B,) per sentence for a read that samples; zeros otherwise.

        key (B,): hash of each input.
        """
        return torch.zeros_like(key)

    def forward(self, weights: Tensor, values: Tensor) -> AttentionOutput:
        """Compute the context (B, T, V) from weights (B, T, S) and values (B, S, V)."""
        raise NotImplementedError


class MonotonicNormaliser(nn.Module):
    """Normaliser that moves on from the slot of the previous step, which the history holds.

    It is built with the settings of the attention, unlike other normalisers, which have none.
    """

    needs_chunk_scores = False  # True if a second score, of the same kind, weighs slots of a chunk

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        # parts whose combination cannot be computed are refused when the model is built, not at a
        # step
        for refused, reason, nearest in (
            ("window=local_p", "whose weights no later step could exceed", "window=global"),
            ("read=hard", "which stops at one slot already", "read=soft"),
            ("null_slot=True", "which can stop at no slot already", "null_slot=false"),
        ):
            name, _, value = refused.partition("=")
            if str(getattr(config, name)) == value:
                found = f"model.attention.{refused.lower()} with normalise={config.normalise}"
                raise ConfigurationError(f"{found}, {reason}", f"model.attention.{nearest}")

    def forward(
        self, scores: Tensor, slots: Tensor, position: Tensor, chunk_scores: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return weights and the new position (B, T, S), from the position of the last step.

        scores, chunk_scores (B, T, S); slots (B, 1 or T, S).
        """
        raise NotImplementedError


class PreparedMemory(NamedTuple):
    """Memory prepared for an attention: everything that is computed once per source.

    With several heads, keys and values have an axis of heads after the first.
    """

    keys: Tensor  # (B, S, K)
    values: Tensor  # (B, S, V)
    mask: Tensor  # (B, S), or (B, T, S) where the slots that are seen depend on the query
    key: Tensor  # (B,) hash of each input, a whole number below 2 ** 22; 0 if unknown
    looks: Looks | None = None  # see Memory


class Attention(nn.Module):
    """Attention with one head: score, window, normalise, read."""

    def __init__(
        self,
        query_size: int,
        value_size: int,
        config: AttentionConfig,
        *,
        key_size: int | None = None,
    ) -> None:
        super().__init__()
        assert config.heads == 1, "models.attention.multihead builds several"
        check_limits(config, where="model.attention")
        kv_heads(config)  # refuses several
        config = with_score(config)
        self.key_size = value_size if key_size is None else key_size
        build = find("score", config.score)
        self.score: Score = build(query_size, self.key_size, config)
        self.window: Window = find("window", config.window)(query_size, config)
        normalise = find("normalise", config.normalise)
        self.moves = issubclass(normalise, MonotonicNormaliser)
        self.normalise = normalise(config) if self.moves else normalise()
        self.read: Read = find("read", config.read)(config)
        self.null = NullSlot() if config.null_slot else None
        self.chunk_score: Score | None = None
        if self.moves and normalise.needs_chunk_scores:
            self.chunk_score = build(query_size, self.key_size, config)
        recalling = (self.score, self.window, self.read)
        self.needs_history = self.moves or any(part.needs_history for part in recalling)
        self.sequential = self.moves or any(part.sequential for part in recalling)
        self.max_slots = self.score.max_slots

    @property
    def parts(self) -> tuple[nn.Module, ...]:
        """Score, window, normaliser and read."""
        return self.score, self.window, self.normalise, self.read

    def prepare(self, memory: Memory, keys: Tensor | None = None) -> PreparedMemory:
        """Prepare a memory, once per source; `keys` (B, S, K) default to its values."""
        given = memory.values if keys is None else keys
        if self.score.uses_keys and given.shape[-1] != self.key_size:
            raise InputError(
                f"keys of size {given.shape[-1]}",
                f"size {self.key_size}, for which the attention was built",
                "build the attention with that size, or project the keys",
            )
        values, mask = rounded_once(memory.values), memory.mask
        return PreparedMemory(self.keys(given), values, mask, input_keys(memory), memory.looks)

    def keys(self, values: Tensor) -> Tensor:
        """Prepare the keys (B, S, K) of values (B, S, V), or those of both scores (B, S, 2 K)."""
        keys = self.score.prepare(values)
        if self.chunk_score is None:
            return keys
        return torch.cat([keys, self.chunk_score.prepare(values)], -1)

    def begin(self, prepared: PreparedMemory) -> History | None:
        """Return the history before the first query, one row per sentence; None if unused."""
        if not self.needs_history:
            return None
        mask = prepared.mask.float()  # (B, S)
        # uniform, because location-aware scores convolve the last weights, and no slot has been
        # read
        uniform = mask / mask.sum(1, keepdim=True).clamp_min(1)
        step = mask.new_zeros(mask.shape[0])  # (B,)
        # the paper's alpha_0: the first step can stop at any slot
        first = torch.arange(mask.shape[1], device=mask.device) == 0
        position = first.float().expand(mask.shape) if self.moves else None
        random = self.read.begin(prepared.key)
        return History(step, uniform, torch.zeros_like(mask), random, position)

    def forward(
        self,
        query: Tensor,
        prepared: PreparedMemory,
        history: History | None = None,
        sentinel: Tensor | None = None,
    ) -> AttentionOutput:
        """Read the memory with queries (B, T, Q); weights (B, T, S) are zero on padding.

        history: B * T rows; the default is that of `begin`. The result contains the history after
        this step. sentinel (B, T, 1): added to the score of the null slot.
        """
        past = grouped(self.begin(prepared) if history is None else history, query)
        attended = self.attend(query, prepared, past, sentinel=sentinel)
        if past is None:
            return attended
        return attended._replace(history=past.after(attended.weights, attended.position))

    def attend(
        self,
        query: Tensor,
        prepared: PreparedMemory,
        past: History | None = None,
        bias: Tensor | None = None,
        sentinel: Tensor | None = None,
    ) -> AttentionOutput:
        """Read the memory with queries (B, T, Q), given the history (B, T, ..) of each.

        bias (B, T, S): added to the scores. sentinel (B, T, 1): to that of the null slot.
        """
        mask = prepared.mask if prepared.mask.dim() == 3 else prepared.mask.unsqueeze(1)
        slots, share = self.window(query, mask, past).looked(prepared.looks, mask)
        if self.moves:
            return self._moved(query, prepared, slots, past)
        scores = self.score(query, prepared.keys, *recalled(self.score, past))  # (B, T, S)
        if bias is not None:
            scores = scores + bias
        values = prepared.values
        if self.null is not None:
            scores, values, slots, share = self.null.added(scores, values, slots, share, sentinel)
        weights = self.normalise(scores, slots)
        if share is not None:
            weights = weights * share
        attended: AttentionOutput = self.read(weights, values, *recalled(self.read, past))
        return attended if self.null is None else self.null.removed(attended)

    def _moved(
        self, query: Tensor, prepared: PreparedMemory, slots: Tensor, past: History | None
    ) -> AttentionOutput:
        """Read the memory from the position of the last step on."""
        assert past is not None and past.position is not None
        pairs = [(self.score, prepared.keys)]
        if self.chunk_score is not None:
            kinds = (self.score, self.chunk_score)
            pairs = list(zip(kinds, prepared.keys.chunk(2, -1), strict=True))
        scores, *others = (score(query, keys, *recalled(score, past)) for score, keys in pairs)
        chunk_scores = others[0] if others else None
        weights, position = self.normalise(scores, slots, past.position, chunk_scores)
        return self.read(weights, prepared.values)._replace(position=position)


def input_keys(memory: Memory) -> Tensor:
    """Return the hash (B,) of each input; zeros if unknown."""
    if memory.key is not None:
        return memory.key.float()
    return memory.mask.new_zeros(memory.mask.shape[0], dtype=torch.float32)


def rounded_once(values: Tensor) -> Tensor:
    """Return values (B, S, V) in the autocast type, unless they require gradients.

    Features of a frozen encoder are the largest tensor of a captioner, and autocast would convert
    them again at every step. Values that require gradients stay in fp32, so that their gradients
    are summed over the steps in fp32.
    """
    kind = values.device.type
    if values.requires_grad or not torch.is_autocast_enabled(kind):
        return values
    return values.to(torch.get_autocast_dtype(kind))


def with_score(config: AttentionConfig) -> AttentionConfig:
    """Return settings that name a score: the usual one if they name none."""
    return replace(config, score=config.score or config.usual_score)


def uses_coverage(config: AttentionConfig) -> bool:
    """Return True if the score is given the sum of earlier weights."""
    return isinstance(config, AdditiveConfig) and config.coverage


def kv_heads(config: AttentionConfig) -> int:
    """Return the number G of heads of keys and values."""
    shared = config.kv_heads or max(config.heads, 1)
    if config.heads % shared:
        raise ConfigurationError(
            f"{config.heads} attention heads with {shared} heads of keys and values",
            "a number that divides the heads evenly",
            "kv_heads=1, which all heads share, or kv_heads=0, one for each head",
        )
    return shared


def check_slots(most: int | None, config: TextConfig, table: str) -> None:
    """Raise ConfigurationError if an attention accepts fewer slots than the longest source has.

    most: its slots; None for any number. table: its settings, a field of config.
    """
    if most is not None and most < config.max_source:
        raise ConfigurationError(
            f"score '{getattr(config, table).score}' with at most {most} slots",
            f"at least model.max_source, {config.max_source}",
            f"-s model.max_source={most}",
        )


def is_monotonic(config: AttentionConfig) -> bool:
    """Return True if the normaliser moves on from the slot of the previous step."""
    return issubclass(find("normalise", config.normalise), MonotonicNormaliser)


def recalled(part: Score | Read, past: History | None) -> tuple[History | None, ...]:
    """Return the extra argument of a part that needs the history, as a tuple."""
    return (past,) if part.needs_history else ()
