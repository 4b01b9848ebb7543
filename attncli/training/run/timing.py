"""Time of a run, estimated by a few updates on a state that is thrown away."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch

from attncli.data.batching import Examples
from attncli.training.events import Stepped
from attncli.training.interfaces import Prepared
from attncli.training.loop.fit import fit
from attncli.training.settings.config import TrainConfig
from attncli.training.settings.limits import updates_left
from attncli.training.storage.state import State
from attncli.training.updates.epoch import batches_of

UNTIMED, TIMED = 2, 5  # first updates, which are slower; updates that are timed


class Timing(NamedTuple):
    """Duration of updates, and their number."""

    per_update: float  # seconds, on average over an epoch
    per_epoch: int  # updates
    updates: int  # of the run at most; 0: only early stopping ends it

    @property
    def seconds(self) -> float:
        """Time of the run at most, in seconds, without evaluations; 0 if unknown."""
        return self.updates * self.per_update


def timing(
    state: State, prepared: Prepared, config: TrainConfig, dtype: torch.dtype, processes: int = 1
) -> Timing:
    """Train for a few updates, which changes the state, and return the time of a run.

    processes: number of processes that divide the time of an update.
    """
    events = fit(state, prepared.examples, None, config, dtype, prepared.reward_loss)
    steps = [event for event in itertools.islice(events, UNTIMED + TIMED) if type(event) is Stepped]
    timed = steps[UNTIMED:] or steps
    batches = batches_of(prepared.examples, config)
    per_epoch = -(-len(batches) // config.accumulate)
    per_token = sum(step.seconds for step in timed) / sum(step.tokens for step in timed)
    tokens = target_tokens(prepared.examples) / per_epoch  # of an update, on average
    per_update = per_token * tokens / processes
    updates = updates_left(config, per_epoch=per_epoch, per_update=per_update)
    return Timing(per_update, per_epoch, updates)


def target_tokens(examples: Examples) -> int:
    """Return the number of target tokens of an epoch; of a large corpus, estimated by a sample."""
    lengths = examples.lengths[1]
    return round(int(lengths.sum()) * (examples.count / len(lengths)))
