"""State of a run of which each process stores a part: train.shard_model.

Weights, optimiser state and moving average are tensors that are divided along their first
dimension. They are gathered to be evaluated or saved, so bundles and checkpoints are the same files
as without division, and a run continues either way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from attncli.training.distributed.divided_model import divide, own_part, undivided_copy, whole
from attncli.training.distributed.order import STATE, WEIGHTS, Order
from attncli.training.distributed.world import World
from attncli.training.optimisers import optimiser
from attncli.training.settings.config import TrainConfig
from attncli.training.storage.state import State, content, fill
from attncli.training.storage.tensor_file import from_bytes
from models.families.encoder_decoder import EncoderDecoder


def joined(
    state: State, config: TrainConfig, world: World, device: torch.device, dtype: torch.dtype
) -> State:
    """Return the state of process 0, or this process's part of it; all processes call this.

    state: of a new run in every process but 0; in main memory, if it will be divided. device: of
    this process. dtype: of matrix products.
    """
    if world.size == 1:
        return state
    if config.shard_model:
        return DividedState(state, config, world, device, dtype)
    found = world.share(None if world.number else content(state))
    if world.number:
        fill(state, from_bytes(found))
    return state


class DividedState(State):
    """Part of model, optimiser and moving average; counters in process 0.

    Its model computes together with those of the other processes, and only by `teacher_force`.
    Evaluations use another model, whose weights exist as long as they are evaluated or saved.
    Methods that gather tensors are called by all processes: by process 0, which orders it, and by
    the others, which follow.
    """

    is_divided = True

    def __init__(
        self,
        undivided: State,
        config: TrainConfig,
        world: World,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        """Divide the state of process 0.

        undivided: in main memory; its model is that of this state afterwards.
        """
        self.world, self.device, self.counters = world, device, undivided.counters
        for parameter in undivided.learned.values():
            world.broadcast(parameter.data)
        self.model = undivided.model
        self.undivided_model = undivided_copy(self.model)
        divide(self.model, device, dtype, world.size)
        self.learned = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        self.optimiser = optimiser(self.model, self.learned.values(), config)
        self._divide_moments(undivided)
        self.average = None
        if undivided.average is not None:
            self.average = {
                name: own_part(world.broadcast(values), self.learned[name])
                for name, values in undivided.average.items()
            }
        self._free()

    def weights(self) -> dict[str, Tensor]:
        """Gather the weights to evaluate and save."""
        self._order(WEIGHTS)
        with self.world.losses(computing=True):
            return {name: whole(tensor) for name, tensor in super().weights().items()}

    def tensors(self) -> dict[str, Tensor]:
        """Gather the content of a checkpoint in process 0; the others return nothing."""
        self._order(STATE)
        found = {}
        with self.world.losses(computing=True):
            for name, tensor in super().tensors().items():
                values = whole(tensor)
                if self.world.number == 0:
                    found[name] = values.cpu()
        return found

    @contextmanager
    def with_weights(self, weights: dict[str, Tensor]) -> Iterator[EncoderDecoder]:
        """Give a model with these weights, which computes in this process alone."""
        parameters = dict(self.undivided_model.named_parameters())
        try:
            for name, tensor in weights.items():
                parameters[name].data = tensor.to(self.device)
            yield self.undivided_model
        finally:
            self._free()

    def _order(self, kind: int) -> None:
        if self.world.number == 0:
            self.world.announce(Order(kind))

    def _free(self) -> None:
        """Free the weights of the undivided model."""
        for name, parameter in self.undivided_model.named_parameters():
            if name in self.learned:
                parameter.data = torch.empty(0, device=self.device)

    def _divide_moments(self, undivided: State) -> None:
        """Divide the optimiser's state of process 0."""
        moments = undivided.optimiser.state
        kinds = [
            (name, kind, list(values.shape))
            for name, parameter in undivided.learned.items()
            for kind, values in moments.get(parameter, {}).items()
        ]
        found = self.world.share(None if self.world.number else json.dumps(kinds).encode())
        for name, kind, shape in json.loads(found):
            own = moments.get(undivided.learned[name], {}).get(kind)
            values = self.world.broadcast(torch.empty(shape) if own is None else own)
            parameter = self.learned[name]
            part = own_part(values, parameter) if kind != "step" else values.to(self.device)
            self.optimiser.state[parameter][kind] = part
