"""Settings of an attention: those of every attention, and those that its parts own.

Score, window, normaliser and read have Config classes of their own (`models.attention.config`); the
class of an attention is composed of this one and of those of its parts. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass
from functools import cache
from inspect import get_annotations
from typing import Any, ClassVar, Literal, cast

from models.core.registry import SETTINGS, config_of, is_name, names
from models.core.settings import MAX_SIZE, Need, Settings, fields_of, merged, option

RECURRENT_SCORE = "additive"  # where model.attention.score is empty; also of a pooling
TRANSFORMER_SCORE = "scaled_dot"  # of a Transformer's decoder and self-attention
PARTS = ("score", "window", "normalise", "read")  # of an attention
SOFT = Need("model.attends_softly", "soft attention")
REINFORCE = Need(
    "model.attention.read_gradient=reinforce",
    "hard attention that learns by REINFORCE (model.attention.read=hard)",
)
REGIONS = Need("data.has_regions", "data.links (sentence pairs) or data.regions (captioners)")
ReadMode = Literal["argmax", "sample", "expected"]  # of hard attention, outside training


@dataclass(frozen=True, eq=False, repr=False)
class SelfAttentionConfig(Settings):
    """Self-attention of a Transformer: Score x Normalise; its number of heads is model.heads."""

    score: str = option(
        "",
        "score function; `attn models` lists them (empty: additive; in a Transformer scaled_dot)",
        choices=("",),
        registry="score",
    )
    normalise: str = option("softmax", "function from scores to weights", registry="normalise")
    kv_heads: int = option(
        0,
        "number of heads of keys and values, each read by an equal share of the heads (Ainslie et "
        "al. 2023; 1: multi-query, Shazeer 2019; 0: as many as heads)",
        at_most=MAX_SIZE,
    )
    null_slot: bool = option(
        False,
        "add a slot of value 0 and a learned score, so that a step can attend to nothing; the "
        "weights then sum to at most 1",
    )


@dataclass(frozen=True, eq=False, repr=False)
class AttentionConfig(SelfAttentionConfig):
    """One attention: Score x Window x Normalise x Read, and heads.

    Its parts have Config classes, which inherit from this one: it has the settings that
    its own parts read, as in `AttentionConfig.of(window="local_p", window_size=3)`.
    """

    window: str = option("global", "window: which slots a query can attend to", registry="window")
    read: str = option("soft", "how the values are combined by the weights", registry="read")
    heads: int = option(
        1,
        "number of heads; each has its own parameters and an equal share of the features; a "
        "Transformer has model.heads",
        least=1,
        at_most=MAX_SIZE,
    )

    builds: ClassVar[str] = ""  # of the Config of a part: its class, as module:Class
    usual_score: ClassVar[str] = RECURRENT_SCORE  # where the score is empty
    base: ClassVar[type[AttentionConfig] | None] = None  # of a composed class: it, without parts

    @classmethod
    def of(cls, **values: object) -> Any:
        """Return an attention with these settings; others keep their defaults."""
        return merged(cls(), values, where="model.attention")

    def chosen(
        self, values: Mapping[str, object], base: type[AttentionConfig] | None = None
    ) -> AttentionConfig:
        """Return the settings in the class of the parts that values name.

        base: another class without parts; the default is the present one.
        """
        named = {part: values.get(part, getattr(self, part)) for part in PARTS}
        named["score"] = named["score"] or self.usual_score
        parts = (part_config(part, name) for part, name in named.items())
        kind = composed((base or self.base or type(self), *filter(None, parts)))
        own = {name: value for name, value in vars(self).items() if name in fields_of(kind)}
        return self if type(self) is kind else kind(**own)

    def elsewhere(self, name: str) -> tuple[str, str]:
        """Return why a setting of another part has no effect, and the parts that have it."""
        found: dict[str, list[str]] = {}
        for kind, part in all_parts():
            if name in part_fields(kind, part):
                found.setdefault(SETTINGS[kind], []).append(part)
        parts = " or ".join(f"{place}={', '.join(each)}" for place, each in found.items())
        return ("has no effect without the part that reads it" if parts else ""), parts


def part_config(kind: str, name: object) -> type[AttentionConfig] | None:
    """Return the Config class of a part of an attention; None if it has no settings of its own."""
    known = isinstance(name, str) and is_name(kind, name)
    return config_of(kind, str(name)) if known else None


def part_fields(kind: str, name: str) -> dict[str, Field[Any]]:
    """Return the settings of model.attention that a part declares."""
    config = part_config(kind, name)
    own = config.__mro__[: config.__mro__.index(AttentionConfig)] if config else ()
    declared = {one for each in own for one in get_annotations(each)}
    return {n: each for n, each in fields_of(config).items() if n in declared} if config else {}


def all_parts() -> list[tuple[str, str]]:
    """Return kind and name of every part that an attention can have, and of every pooling."""
    return [(kind, name) for kind in (*PARTS, "pooling") for name in names(kind)]


@cache
def composed(kinds: tuple[type[AttentionConfig], ...]) -> type[AttentionConfig]:
    """Return the class with the settings of an attention, the first class, and of its parts."""
    base, *parts = kinds
    if not parts:
        return base
    own = {"base": base, "__doc__": base.__doc__}
    made = type(base.__name__, (*dict.fromkeys(parts), base), own)
    return cast(type[AttentionConfig], dataclass(frozen=True, eq=False, repr=False)(made))


@dataclass(frozen=True, eq=False, repr=False)
class TransformerAttentionConfig(AttentionConfig):
    """Attention of a Transformer's decoder, which computes all steps at once."""

    usual_score: ClassVar[str] = TRANSFORMER_SCORE


@dataclass(frozen=True, eq=False, repr=False)
class AttentionLossConfig(Settings):
    """Loss terms on attention weights."""

    coverage: str = option(
        "none",
        "penalty on the sum of weights per slot: none, see (repeated attention) or "
        "doubly_stochastic (distance from 1)",
        needs=SOFT,
        choices=("none", "see", "doubly_stochastic"),
    )
    coverage_weight: float = option(
        1.0, "weight of the coverage penalty", needs=Need("train.attention.coverage")
    )
    reinforce: float = option(
        1.0,
        "hard attention: weight of the REINFORCE term, lambda_r of Xu et al. 2015",
        needs=REINFORCE,
    )
    entropy: float = option(
        0.01,
        "hard attention: weight of the entropy term, lambda_e of Xu et al. 2015",
        needs=REINFORCE,
    )
    peaked: float = option(
        0.0,
        "soft attention: weight of the penalty on the entropy of each step's weights, in nats, "
        "which concentrates attention on few slots (0: none)",
        needs=SOFT,
    )
    regions: float = option(
        0.0,
        "weight of the term that draws attention to the cells of data.regions (captioners) or to "
        "the words of data.links (sentence pairs; then 0.05 if it is not given); 0: none",
        needs=REGIONS,
    )
    redundancy: float = option(
        0.0,
        "classifier: weight of the penalty |A A^T - I|^2 on the weights A of several heads, which "
        "makes them read different slots (Lin et al. 2017)",
        needs=Need("model.pools_by_attention", "a classifier whose pooling has attention"),
    )
