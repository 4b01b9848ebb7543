"""Work of every process of a run but number 0: it computes its shards, as process 0 orders."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from attncli.training.distributed.evaluation import DividedEvaluation
from attncli.training.distributed.meeting import Invitation, Meeting
from attncli.training.distributed.order import END, EVALUATE, RECEIVE, UPDATE, Order
from attncli.training.distributed.rank import Rank
from attncli.training.distributed.stepper import ShardedStepper, share_state
from attncli.training.distributed.world import ProcessLost, World
from attncli.training.interfaces import Prepared, UpdateBatch
from attncli.training.run.run import completed, fresh_state
from attncli.training.sources import training_source
from attncli.training.storage.folder import RunFolder, read_config
from attncli.training.storage.tensor_file import from_bytes
from attncli.training.updates import hardware
from attncli.training.updates.epoch import Epoch, start_epoch
from models.base.memory import retain_freed_memory
from models.bundle import Bundle
from models.families.encoder_decoder import EncoderDecoder


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
    path = Path(invitation.folder)
    config = read_config(RunFolder(path))
    retain_freed_memory()
    hardware.limit_kernel_caches()
    source = training_source(config.model.family)
    data = source.load(config, path, lambda label, done, total: None)
    config = completed(config, data)
    home, dtype = torch.device(device), hardware.DTYPES[invitation.precision]
    state = fresh_state(config, data.prepared, home)
    world = meeting.join(invitation)
    if world is None:
        return
    share_state(state, world)
    stepper = ShardedStepper(state, config.train, dtype, world)

    def evaluation(model: EncoderDecoder) -> DividedEvaluation:
        bundle = Bundle(model, data.prepared.tokenizer, config.tokenizer, config.search)
        assert data.dev is not None
        return DividedEvaluation(bundle, data.dev, config.train)

    follower = Follower(stepper, data.prepared, evaluation, world)
    while (order := world.receive()).kind != END:
        follower.obey(order)


class Follower:
    """Work of this process in the updates, evaluations and checkpoints that process 0 orders."""

    def __init__(
        self,
        stepper: ShardedStepper,
        prepared: Prepared,
        evaluation: Callable[[EncoderDecoder], DividedEvaluation],
        world: World,
    ) -> None:
        self.stepper, self.state, self.world = stepper, stepper.state, world
        self.prepared, self.evaluation = prepared, evaluation  # the weights change between rounds
        self.epoch: Epoch | None = None
        self.rounds: Iterator[float] = iter(())  # of the current evaluation
        self.lent: dict[str, Tensor] = {}  # weights to evaluate, if they are not the state's own

    def obey(self, order: Order) -> None:
        """Execute an order of process 0."""
        if order.kind == UPDATE:
            self.lent = {}
            self.update(order)
        elif order.kind == RECEIVE:
            self.lent = from_bytes(self.world.share(None))
        else:
            with self.state.with_weights(self.lent or self.state.weights()) as model:
                if order.kind == EVALUATE:
                    self.rounds = self.evaluation(model).rounds(self.world)
                next(self.rounds, None)

    def update(self, order: Order) -> None:
        """Compute this process's shards of an update."""
        prepared, state = self.prepared, self.state
        if self.epoch is None or self.epoch.number != order.epoch:
            config = self.stepper.config
            self.epoch = start_epoch(state.model, prepared.examples, config, order.epoch)
        numbers = self.epoch.plan[order.batch]
        reward_loss = prepared.reward_loss if order.by_reward else None
        self.stepper.execute(order, UpdateBatch(self.epoch.examples, numbers, reward_loss))
