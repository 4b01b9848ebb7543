"""Work of every process of a run but number 0: it computes its shards, as process 0 orders."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import torch

from attncli.training.distributed.evaluation import evaluation_rounds
from attncli.training.distributed.meeting import Invitation, Meeting
from attncli.training.distributed.rank import Rank
from attncli.training.distributed.stepper import ShardedStepper, share_state
from attncli.training.distributed.world import END, UPDATE, ProcessGroup, ProcessLost
from attncli.training.interfaces import Data, UpdateBatch
from attncli.training.run.fit import Epoch, start_epoch
from attncli.training.run.run import completed, fresh_state
from attncli.training.sources import training_source
from attncli.training.storage.folder import RunFolder, read_config
from attncli.training.updates.precision import DTYPES, limit_kernel_caches
from models.base.errors import ModelError
from models.base.process import retain_freed_memory
from models.bundle import Bundle

SPOKESMAN = 1  # number of the process that reports the loss of process 0


def follow(rank: Rank, open_device: Callable[[], str]) -> bool:
    """Compute the shards of this process in the run that process 0 leads, until it ends.

    open_device: returns the device of this process. Return False after an error that another
    process reports, which is process 0, if it still works. Raises ProcessLost in process 1 if
    process 0 is lost.
    """
    meeting = Meeting(rank)
    try:
        with meeting:
            if invitation := meeting.accept():
                for number in (signal.SIGINT, signal.SIGTERM):  # process 0 saves the run, ends this
                    signal.signal(number, signal.SIG_IGN)
                join(meeting, invitation, open_device())
    except ProcessLost:
        if not meeting.is_reported() and rank.number == SPOKESMAN:
            raise
        return False
    except ModelError:
        return False
    return True


def join(meeting: Meeting, invitation: Invitation, device: str) -> None:
    """Load data and model of a run, join it, and follow the orders of process 0."""
    torch.set_num_threads(invitation.threads)
    path = Path(invitation.folder)
    config = read_config(RunFolder(path))
    retain_freed_memory()
    limit_kernel_caches()
    source = training_source(config.model.family)
    data = source.load(config, path, lambda label, done, total: None)
    config = completed(config, data)
    home, dtype = torch.device(device), DTYPES[config.train.precision]
    state = fresh_state(config, data.prepared, home)
    world = meeting.join()
    if world is None:
        return
    share_state(state, world)
    stepper = ShardedStepper(state, config.train, dtype, world)
    bundle = Bundle(state.model, data.prepared.tokenizer, config.tokenizer, config.search)
    obey(stepper, data, bundle, world)


def obey(stepper: ShardedStepper, data: Data, bundle: Bundle, world: ProcessGroup) -> None:
    """Compute this process's part of updates and evaluations, until process 0 ends the run.

    bundle: the model in training, with its search.
    """
    prepared, state, config = data.prepared, stepper.state, stepper.config
    epoch: Epoch | None = None
    while (order := world.receive()).kind != END:
        if order.kind == UPDATE:
            if epoch is None or epoch.number != order.epoch:
                epoch = start_epoch(state.model, prepared.examples, config, order.epoch)
            reward_loss = prepared.reward_loss if order.by_reward else None
            numbers = epoch.plan[order.batch]
            stepper.execute(order, UpdateBatch(epoch.examples, numbers, reward_loss))
            continue
        assert data.dev is not None
        with state.evaluated():
            rounds = evaluation_rounds(bundle, data.dev, config, world)
            if any(world.receive().kind == END for _ in rounds):
                return
