"""Explanations of an output: how much each part of the input counts for each word.

A method maps a subject (a model, an input and its output) to relevances (J, I) of I source units
for J output words. A method is a function and a row of METHODS. Importing this table imports no
torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

METHODS = {  # places of functions that are called with a subject
    "attention": "models.explain.methods:attention",
    "rollout": "models.explain.methods:rollout",
    "values": "models.explain.methods:weighted_values",
    "gradient": "models.explain.methods:gradient_times_input",
    "integrated": "models.explain.methods:integrated_gradients",
    "erasure": "models.explain.methods:erasure",
    "look": "models.explain.methods:look",
}


class ExplainOptions(NamedTuple):
    """What is explained, and how."""

    methods: Sequence[str] = tuple(METHODS)
    word: int = 0  # number of the only output word, from 1; 0: every word
