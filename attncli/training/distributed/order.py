"""Orders: what process 0 tells the others to do next."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

END, UPDATE, WAIT = 0, 1, 2  # kinds of orders
EVALUATE, ROUND = 3, 4  # begin an evaluation; compute its next round
RECEIVE = 5  # receive the weights that the next evaluation scores


class Order(NamedTuple):
    """One order; the fields after `kind` describe an update."""

    kind: int
    step: int = 0  # number of the update, from 1
    epoch: int = 0
    batch: int = 0  # of the update, in the plan of the epoch
    rate: float = 0.0  # learning rate
    baseline: float | None = None  # hard attention: REINFORCE baseline
    by_reward: bool = False  # self-critical training

    def encoded(self) -> Tensor:
        """Return the order as numbers, (7,); they are exact in 64 bits."""
        baseline = math.nan if self.baseline is None else self.baseline
        return torch.tensor(self._replace(baseline=baseline), dtype=torch.float64)


def decoded(numbers: Tensor) -> Order:
    """Return the order that was encoded as numbers (7,)."""
    kind, step, epoch, batch, rate, baseline, by_reward = numbers.tolist()
    kept = None if math.isnan(baseline) else baseline
    return Order(int(kind), int(step), int(epoch), int(batch), rate, kept, bool(by_reward))
