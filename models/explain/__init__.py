"""Explanations of an output: how much each part of the input counts for each word.

A method maps a subject (a model, an input and its output) to relevances (J, I) of I source units
for J output words. A method is one file and one row of METHODS. Importing this table imports no
torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Method(NamedTuple):
    """A method of explanation."""

    place: str  # module:function, called with a subject
    about: str


METHODS = {
    "attention": Method("models.explain.attention:attention", "attention weights"),
    "rollout": Method("models.explain.rollout:rollout", "attention through all layers"),
    "values": Method("models.explain.values:weighted_values", "norms of weighted values"),
    "gradient": Method("models.explain.gradients:gradient_times_input", "gradient times input"),
    "integrated": Method("models.explain.integrated:integrated_gradients", "integrated gradients"),
    "erasure": Method("models.explain.erasure:erasure", "loss if a unit is erased"),
}


class ExplainOptions(NamedTuple):
    """What is explained, and how."""

    methods: Sequence[str] = tuple(METHODS)
    word: int = 0  # number of the only output word, from 1; 0: every word
