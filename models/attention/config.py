"""Settings of the parts of an attention that have some of their own. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

from models.core.attention_config import AttentionConfig, ReadMode
from models.core.settings import MAX_SIZE, MAX_SLOTS, option


@dataclass(frozen=True, eq=False, repr=False)
class LayerConfig(AttentionConfig):
    """A score with a hidden layer."""

    size: int = option(
        0,
        "additive, concat, location_aware, ffn: hidden units per head (0: the query's size)",
        at_most=MAX_SIZE,
    )


@dataclass(frozen=True, eq=False, repr=False)
class AdditiveConfig(LayerConfig):
    """Additive score."""

    builds: ClassVar[str] = "models.attention.scores:Additive"

    coverage: bool = option(
        False, "additive, concat, location_aware: give the score the sum of earlier weights"
    )


@dataclass(frozen=True, eq=False, repr=False)
class ConcatConfig(AdditiveConfig):
    """Concat score."""

    builds: ClassVar[str] = "models.attention.scores:Concat"


@dataclass(frozen=True, eq=False, repr=False)
class LocationAwareConfig(AdditiveConfig):
    """Location-aware score."""

    builds: ClassVar[str] = "models.attention.scores:LocationAware"


@dataclass(frozen=True, eq=False, repr=False)
class FeedForwardConfig(LayerConfig):
    """Feed-forward score."""

    builds: ClassVar[str] = "models.attention.scores:FeedForwardScore"


@dataclass(frozen=True, eq=False, repr=False)
class LocalConfig(AttentionConfig):
    """A window around a centre."""

    window_size: int = option(
        10,
        "local_m, local_p, median: slots on either side of the window's centre",
        least=1,
        at_most=MAX_SLOTS,
    )


@dataclass(frozen=True, eq=False, repr=False)
class LocalMonotonicConfig(LocalConfig):
    """Window that moves one slot per step."""

    builds: ClassVar[str] = "models.attention.windows:LocalMonotonic"


@dataclass(frozen=True, eq=False, repr=False)
class LocalPredictiveConfig(LocalConfig):
    """Window around a predicted position."""

    builds: ClassVar[str] = "models.attention.windows:LocalPredictive"


@dataclass(frozen=True, eq=False, repr=False)
class LocalMedianConfig(LocalConfig):
    """Window around the median of the last weights."""

    builds: ClassVar[str] = "models.attention.windows:LocalMedian"


@dataclass(frozen=True, eq=False, repr=False)
class MoChAConfig(AttentionConfig):
    """Softmax over a chunk."""

    builds: ClassVar[str] = "models.attention.normalisers:MoChA"

    chunk: int = option(
        4, "mocha: slots of a chunk, which ends at the slot of the step", least=1, at_most=MAX_SLOTS
    )


@dataclass(frozen=True, eq=False, repr=False)
class HardConfig(AttentionConfig):
    """Hard read."""

    builds: ClassVar[str] = "models.attention.reads:Hard"

    read_decode: str = option(
        "argmax",
        "hard: read mode outside training: argmax, sample or expected",
        choices=get_args(ReadMode),
    )
    read_gradient: str = option(
        "reinforce",
        "hard: how the score learns from samples: reinforce, or straight_through (the gradient of "
        "the expectation)",
        choices=("reinforce", "straight_through"),
    )


@dataclass(frozen=True, eq=False, repr=False)
class SelfAttentiveConfig(AttentionConfig):
    """Pooling by several queries over a hidden layer of each slot."""

    builds: ClassVar[str] = "models.attention.pooling:SelfAttentive"

    heads: int = option(1, "self_attentive: number of queries", least=1, at_most=MAX_SIZE)
    size: int = option(
        0, "self_attentive: units of the hidden layer (0: a slot's size)", at_most=MAX_SIZE
    )
