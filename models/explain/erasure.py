"""Erasure: the log-probability that a word loses if one unit of the input is erased.

    r_ji = f_j(x) - f_j(x without unit i)                              Li, Monroe and Jurafsky 2016

A word is removed from a text; a cell of an image is blurred.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.explain.subject import Subject


def erasure(subject: Subject) -> Tensor:
    """Return what each word loses without each unit, (J, I), in nats. Source: Li et al. 2016."""
    every = torch.ones(1, subject.units, dtype=torch.bool)
    found = subject.kept_log_probs(torch.cat([every, ~torch.eye(subject.units).bool()]))
    return (found[:1] - found[1:]).T
