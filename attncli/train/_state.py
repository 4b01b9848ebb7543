"""The state of a run: model, optimiser, moving average and counters, and its checkpoint."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attncli.train._checkpoint import intact_file, read_tensors, to_bytes
from attncli.train.folder import Counters, parse_counters
from attncli.training.config import TrainConfig
from models.core.errors import ConfigurationError, unknown_name

if TYPE_CHECKING:
    from torch import Tensor, nn

    from models.networks.encoder_decoder import EncoderDecoder


class State:
    """Model, optimiser, moving average and counters.

    Parameters that are frozen at the start are not stored: they are read again from the pretrained
    weights or the initial model, which must still exist.
    """

    def __init__(self, model: EncoderDecoder, config: TrainConfig) -> None:
        self.model = model
        freeze(model, config.freeze)
        self.learned: dict[str, nn.Parameter] = {
            name: parameter
            for name, parameter in model.named_parameters()
            if parameter.requires_grad
        }
        from attncli.train._optimisers import optimiser  # imports torch

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
    def evaluated(self, weights: dict[str, Tensor] | None = None) -> Iterator[EncoderDecoder]:
        """Give the model with the weights to evaluate and save inside a `with` block.

        weights: others to evaluate. The weights in training are restored at the end of the block.
        """
        weights = self.weights() if weights is None else weights
        own = {name: parameter.detach() for name, parameter in self.learned.items()}
        # without a moving average, the weights are the parameters themselves: nothing is copied
        lent = [name for name in weights if weights[name].data_ptr() != own[name].data_ptr()]
        # copied back from a clone, because the optimiser's state refers to the tensors themselves
        kept = {name: own[name].clone() for name in lent}
        try:
            for name in lent:
                own[name].copy_(weights[name])
            yield self.model
        finally:
            for name in lent:
                own[name].copy_(kept[name])


def freeze(model: EncoderDecoder, parts: Sequence[str]) -> None:
    """Exclude the parameters of some parts from training: embeddings, or parts named in the model.

    Raises ConfigurationError for a part that the model does not have, and if nothing is left.
    """
    from models.attention.layers import Embedding

    for part in parts:
        named = {name: module for name, module in model.named_modules() if name}
        chosen = [module for module in named.values() if isinstance(module, Embedding)]
        if part != "embedding":
            chosen = [named[part]] if part in named else []
        if not any(True for module in chosen for _ in module.parameters()):
            raise unknown_name("part of the model", part, ["embedding", *named])
        for module in chosen:
            module.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ConfigurationError(f"train.freeze={','.join(parts)}", "a part that is trained")


def content(state: State) -> bytes:
    """Return the content of a checkpoint."""
    import torch

    tensors = {f"model/{name}": parameter.detach() for name, parameter in state.learned.items()}
    for name, parameter in state.learned.items():
        for kind, value in state.optimiser.state.get(parameter, {}).items():
            tensors[f"optimiser/{kind}/{name}"] = value
    if state.average is not None:
        tensors |= {f"average/{name}": tensor for name, tensor in state.average.items()}
    # dropout continues with the same numbers, so that a continued run equals an unbroken one to the
    # bit
    tensors["random/cpu"] = torch.get_rng_state()
    device = next(state.model.parameters()).device
    if device.type == "cuda":
        tensors["random/cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        tensors["random/mps"] = torch.mps.get_rng_state()
    counters = json.dumps(dataclasses.asdict(state.counters))
    return to_bytes(tensors, {"counters": counters})


def restore(state: State, path: Path) -> None:
    """Restore a run from its checkpoint; raise a DamagedError if the file is damaged."""
    tensors, metadata = read_tensors(path)
    with intact_file(path):
        counters = parse_counters(metadata["counters"])
        fill(state, tensors)
    state.counters = counters


def fill(state: State, tensors: dict[str, Tensor]) -> None:
    """Restore weights, moments, moving average and random numbers from those of a checkpoint."""
    import torch

    with torch.no_grad():
        moments: dict[str, dict[str, Tensor]] = {}  # of each parameter, by its name
        for key, tensor in tensors.items():
            place, _, rest = key.partition("/")
            if place == "optimiser":
                kind, _, name = rest.partition("/")
                moments.setdefault(name, {})[kind] = tensor
        is_fused = state.optimiser.defaults.get("fused")  # its steps are on the device of weights
        for name, parameter in state.learned.items():
            # in place, because optimiser and moving average hold the same tensors
            parameter.copy_(tensors[f"model/{name}"])
            state.optimiser.state[parameter] = {
                kind: tensor.to(parameter.device) if kind != "step" or is_fused else tensor
                for kind, tensor in moments.get(name, {}).items()
            }
            if state.average is not None:
                state.average[name].copy_(tensors[f"average/{name}"])
        torch.set_rng_state(tensors["random/cpu"])
        device = next(state.model.parameters()).device
        if device.type == "cuda" and "random/cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random/cuda"], device)
        elif device.type == "mps" and "random/mps" in tensors:
            torch.mps.set_rng_state(tensors["random/mps"])
