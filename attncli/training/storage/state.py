"""The state of a run, and its checkpoint: one safetensors file, nothing pickled."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from attncli.training.events import FinalModel
from attncli.training.optimisers import optimiser
from attncli.training.settings.config import TrainConfig
from attncli.training.storage.tensor_file import (
    Metadata,
    intact,
    read_metadata,
    read_tensors,
    to_bytes,
)
from models.base.files import write_bytes
from models.base.parsing import parse_json
from models.families.encoder_decoder import EncoderDecoder


@dataclass
class Counters:
    """Counters and best scores of a run, stored in the checkpoint."""

    step: int = 0  # updates done
    epoch: int = 0  # index of the current epoch, from 0
    batch: int = 0  # batches of this epoch done
    tokens: int = 0  # target tokens seen
    seconds: float = 0.0  # time spent on updates
    elapsed: float = 0.0  # training time in seconds, evaluations included; see clock.py
    cuts: int = 0  # reductions of the learning rate by the plateau schedule
    plateau_waits: int = 0  # evaluations since the last gain or cut
    waits: int = 0  # evaluations since the last gain
    best: float | None = None  # best dev score; higher is better
    best_loss: float | None = None  # dev loss at the best score
    best_step: int = 0
    evaluated: int = 0  # step of the last evaluation
    snapshots: list[int] = field(default_factory=list)  # steps whose weights are kept, oldest first
    log_bytes: int = 0  # size of log.jsonl at the checkpoint
    interval: dict[str, float] = field(default_factory=dict)  # sums for the next log record
    baseline: float | None = None  # hard attention: REINFORCE baseline
    ended: str = ""  # reason why the updates ended; "" before
    kept: FinalModel | None = None  # final model, once it is written


class State:
    """Model, optimiser, moving average and counters.

    Parameters that are frozen at the start are not stored: they are read again from the pretrained
    weights or the initial model, which must still exist.
    """

    def __init__(self, model: EncoderDecoder, config: TrainConfig) -> None:
        self.model = model
        self.learned: dict[str, nn.Parameter] = {
            name: parameter
            for name, parameter in model.named_parameters()
            if parameter.requires_grad
        }
        self.optimiser = optimiser(model, self.learned.values(), config)
        self.counters = Counters()
        self.average: dict[str, Tensor] | None = None
        if config.ema:
            self.average = {name: p.detach().clone() for name, p in self.learned.items()}

    def weights(self) -> dict[str, Tensor]:
        """Return the weights to evaluate and save: the moving average if there is one."""
        if self.average is not None:
            return self.average
        return {name: parameter.detach().contiguous() for name, parameter in self.learned.items()}

    @contextmanager
    def with_weights(self, weights: dict[str, Tensor]) -> Iterator[EncoderDecoder]:
        """Give a model with these weights inside a `with` block."""
        with using(self.model, weights):
            yield self.model

    def evaluated(self) -> AbstractContextManager[EncoderDecoder]:
        """Give a model with the weights to evaluate and save inside a `with` block."""
        return self.with_weights(self.weights())

    def tensors(self) -> dict[str, Tensor]:
        """Return weights, optimiser state and moving average by their names in a checkpoint."""
        tensors = {f"model/{name}": parameter.detach() for name, parameter in self.learned.items()}
        for name, parameter in self.learned.items():
            for kind, value in self.optimiser.state.get(parameter, {}).items():
                tensors[f"optimiser/{kind}/{name}"] = value
        if self.average is not None:
            tensors |= {f"average/{name}": tensor for name, tensor in self.average.items()}
        return tensors


@contextmanager
def using(model: nn.Module, weights: dict[str, Tensor]) -> Iterator[None]:
    """Replace all or some weights of a model inside a `with` block; restore them at its end."""
    parameters = dict(model.named_parameters())
    lent = [name for name in weights if weights[name].data_ptr() != parameters[name].data_ptr()]
    own = {name: parameters[name].detach().clone() for name in lent}
    try:
        _fill(parameters, {name: weights[name] for name in lent})
        yield
    finally:
        _fill(parameters, own)


@torch.no_grad()
def _fill(parameters: dict[str, nn.Parameter], weights: dict[str, Tensor]) -> None:
    for name, tensor in weights.items():
        parameters[name].copy_(tensor)


def save(state: State, path: Path, previous: Path) -> None:
    """Write a checkpoint atomically; keep the one that it replaces as `previous`."""
    write_bytes(path, content(state), previous)


def content(state: State) -> bytes:
    """Return the content of a checkpoint."""
    tensors = state.tensors()
    tensors["random/cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random/cuda"] = torch.cuda.get_rng_state()
    counters = json.dumps(dataclasses.asdict(state.counters))
    return to_bytes(tensors, {"counters": counters})


def restore(state: State, path: Path) -> None:
    """Restore a run from its checkpoint; raise a DamagedError if the file is damaged."""
    tensors, metadata = read_tensors(path)
    with intact(path):
        counters = _counters(metadata)
        fill(state, tensors)
    state.counters = counters


@torch.no_grad()
def fill(state: State, tensors: dict[str, Tensor]) -> None:
    """Restore weights, moments, moving average and random numbers from those of a checkpoint."""
    moments = _moments(tensors)
    for name, parameter in state.learned.items():
        parameter.copy_(tensors[f"model/{name}"])
        state.optimiser.state[parameter] = {
            kind: tensor.to(parameter.device) if kind != "step" or _fused(state) else tensor
            for kind, tensor in moments.get(name, {}).items()
        }
        if state.average is not None:
            state.average[name].copy_(tensors[f"average/{name}"])
    torch.set_rng_state(tensors["random/cpu"])
    if torch.cuda.is_available() and "random/cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random/cuda"])


def read_counters(path: Path) -> Counters:
    """Return the counters of a checkpoint, without reading the weights."""
    metadata = read_metadata(path)
    with intact(path):
        return _counters(metadata)


def _counters(metadata: Metadata) -> Counters:
    counters = Counters(**parse_json(metadata["counters"]))
    return dataclasses.replace(counters, kept=counters.kept and FinalModel(*counters.kept))


def _fused(state: State) -> bool:
    """Return True if the optimiser is fused: its step count is on the device of the weights."""
    return bool(state.optimiser.defaults.get("fused"))


def _moments(tensors: dict[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """Return the optimiser state of each parameter, by parameter name."""
    found: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        place, _, rest = key.partition("/")
        if place == "optimiser":
            kind, _, name = rest.partition("/")
            found.setdefault(name, {})[kind] = tensor
    return found
