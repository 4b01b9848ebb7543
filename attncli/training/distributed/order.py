"""Orders: what process 0 tells the others to do next."""

from __future__ import annotations

from typing import NamedTuple

END, UPDATE, WAIT = 0, 1, 2  # kinds of orders
EVALUATE, ROUND = 3, 4  # begin an evaluation; compute its next round


class Order(NamedTuple):
    """One order; the fields after `kind` describe an update."""

    kind: int
    step: int = 0  # number of the update, from 1
    epoch: int = 0
    batch: int = 0  # of the update, in the plan of the epoch
    rate: float = 0.0  # learning rate
    baseline: float | None = None  # hard attention: REINFORCE baseline
    by_reward: bool = False  # self-critical training
