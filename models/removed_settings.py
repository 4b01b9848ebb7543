"""Settings of earlier versions that no longer exist. Stored files that name them still load.

A bundle, a run folder or a TOML file may name a removed setting. It is ignored, with one
RemovedSettingWarning if its value had an effect. A removed setting on the command line is an error.
Nothing here imports torch.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from models.base.errors import ConfigurationError


class RemovedSettingWarning(UserWarning):
    """A stored setting that no longer exists had an effect in the version that stored it."""


class Removed(NamedTuple):
    """A setting that no longer exists."""

    without_effect: tuple[Any, ...] | None  # values ignored without a warning; None: every value
    hint: str  # what to do instead, or why it was removed


ALIGNER = "attn align train trains an aligner on pairs"
REMOVED = {
    "data.alignments": Removed(("",), ALIGNER),
    "data.corpora.alignments": Removed(("",), ALIGNER),
    "train.fast_reduce": Removed((False,), "the gradients are summed in a fixed order"),
    "train.shard_model": Removed((False,), "each process stores the whole model"),
    "train.attention.guide": Removed(None, ALIGNER),  # had no effect without data.alignments
    "train.attention.guide_layer": Removed(None, ALIGNER),
    "train.attention.guide_head": Removed(None, ALIGNER),
    "train.attention.guide_shift": Removed(None, ALIGNER),
    "train.attention.guide_null": Removed(None, ALIGNER),
    "train.tensorboard": Removed((False,), "use train.loggers=tensorboard"),
}


def is_removed(place: str, value: Any) -> bool:
    """Return True for a setting that no longer exists; warn if its value had an effect.

    place: dotted name, such as train.tensorboard; value: from TOML or JSON.
    """
    removed = REMOVED.get(place)
    if removed is None:
        return False
    if removed.without_effect is not None and value not in removed.without_effect:
        text = f"setting {place} no longer exists and is ignored; {removed.hint}"
        warnings.warn(text, RemovedSettingWarning, stacklevel=2)
    return True


def refuse_removed(place: str) -> None:
    """Raise ConfigurationError for a setting that no longer exists."""
    if place in REMOVED:
        raise ConfigurationError(f"setting {place} no longer exists", hint=REMOVED[place].hint)
