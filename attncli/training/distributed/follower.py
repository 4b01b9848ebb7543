"""Work of every process of a run but number 0: it computes its shards, as process 0 orders."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from attncli.training import hardware
from attncli.training.data import Prepared, UpdateBatches
from attncli.training.distributed.evaluation import DividedEvaluation
from attncli.training.distributed.meeting import Invitation, Meeting
from attncli.training.distributed.order import END, EVALUATE, RECEIVE, UPDATE, Order
from attncli.training.distributed.rank import Rank
from attncli.training.distributed.stepper import ShardedStepper
from attncli.training.distributed.world import ProcessGroup, ProcessLost
from attncli.training.epoch import Epoch, start_epoch
from attncli.training.evaluation import using
from attncli.training.folder import RunFolder, read_config
from attncli.training.run import completed, fresh_state
from attncli.training.sources import training_source
from attncli.training.state import fill
from attncli.training.tensor_file import from_bytes


class LeaderLost(ProcessLost):
    """Process 0 ended without a report, or does not answer."""


def follow(rank: Rank, open_device: Callable[[], str]) -> None:
    """Compute the shards of this process in the run that process 0 leads, until it ends.

    open_device: returns the device of this process. Process 0 reports an error of this process.
    Raises LeaderLost if process 0 is lost.
    """
    with Meeting(rank) as meeting:
        invitation = meeting.accept()
        if invitation is None:
            return
        ignore_signals()
        try:
            join(meeting, invitation, open_device())
        except ProcessLost as error:
            if meeting.is_reported():
                raise
            raise LeaderLost(error.found, error.expected, error.hint) from None
        except Exception as error:
            meeting.report(str(error) or type(error).__name__)
            raise


def ignore_signals() -> None:
    """Leave Ctrl-C and SIGTERM to process 0, which saves the run and then ends the others."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def join(meeting: Meeting, invitation: Invitation, device: str) -> None:
    """Load data and model of a run, join it, and follow the orders of process 0."""
    torch.set_num_threads(invitation.threads)
    hardware.retain_freed_memory()
    hardware.limit_kernel_caches()
    path = Path(invitation.folder)
    config = read_config(RunFolder(path))
    source = training_source(config.model.family)
    data = source.load(config, path, lambda label, done, total: None)
    config = completed(config, data)
    state = fresh_state(config, data.prepared, torch.device(device))
    world = meeting.join(invitation)
    if world is None:
        return
    fill(state, from_bytes(world.share(None)))
    dtype = hardware.DTYPES[invitation.precision]
    stepper = ShardedStepper(state, config.train, dtype, world)
    evaluation = None
    if data.dev is not None:
        evaluation = DividedEvaluation(state.model, data.prepared.tokenizer, data.dev, config)
    obey(stepper, data.prepared, evaluation, world)


def obey(
    stepper: ShardedStepper,
    prepared: Prepared,
    evaluation: DividedEvaluation | None,
    world: ProcessGroup,
) -> None:
    """Compute the updates and the rounds of evaluations that process 0 orders."""
    state, epoch = stepper.state, None
    rounds: Iterator[float] = iter(())
    received: dict[str, Tensor] = {}  # weights to evaluate in place of the state's
    while (order := world.receive()).kind != END:
        if order.kind == UPDATE:
            epoch = current_epoch(epoch, order, stepper, prepared)
            group = list(epoch.plan[order.batch : order.batch + order.batches])
            reward_loss = prepared.reward_loss if order.by_reward else None
            stepper.execute(order, UpdateBatches(epoch.examples, group, reward_loss))
            received = {}
        elif order.kind == RECEIVE:
            received = from_bytes(world.share(None))
        else:
            assert evaluation is not None
            if order.kind == EVALUATE:
                rounds = evaluation.rounds(world)
            with using(state.model, received or state.weights()):
                next(rounds, None)


def current_epoch(
    epoch: Epoch | None, order: Order, stepper: ShardedStepper, prepared: Prepared
) -> Epoch:
    """Return the epoch of an order: the one before, or a new one."""
    if epoch is not None and epoch.number == order.epoch:
        return epoch
    return start_epoch(stepper.state.model, prepared.examples, stepper.config, order.epoch)
