"""The scores of a system, in one form for all tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

BleuTokenizer = Literal[  # of sacreBLEU
    "none", "zh", "13a", "intl", "char", "ja-mecab", "ko-mecab", "spm", "flores101", "flores200"
]


class MetricScore(NamedTuple):
    """One score and its signature, as in sacreBLEU."""

    name: str
    value: float
    signature: str = ""
    interval: float | None = None  # half the width of the 95 % confidence interval
    p_value: float | None = None  # of no difference from the first system
    digits: int = 2  # to print

    @property
    def record(self) -> dict[str, Any]:
        """The score as JSON has it."""
        named = {"signature": self.signature or None, "interval": self.interval}
        named |= {"p_value": self.p_value}
        return {"score": self.value} | {name: one for name, one in named.items() if one is not None}

    def __str__(self) -> str:
        """Return the value with its confidence."""
        interval = "" if self.interval is None else f" ± {self.interval:.{self.digits}f}"
        chance = "" if self.p_value is None else f" (p = {self.p_value:.3f})"
        return f"{self.value:.{self.digits}f}{interval}{chance}"


class System(NamedTuple):
    """A model or another program: its outputs and their scores."""

    name: str
    hypotheses: Sequence[str] = ()  # the output for each input
    seconds: float | None = None  # to make them, for a model
    read: str = ""  # read mode of a model
    scores: tuple[MetricScore, ...] = ()
    facts: Mapping[str, Any] = {}  # further ones, by name, for JSON
