"""The weights of a bundle: names and tensors from and to safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from models.errors import ModelError


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The weights by name, each shared matrix once, and the kept statistics of image networks."""
    return {name: tensor.detach().contiguous() for name, tensor in stored_tensors(model).items()}


def stored_tensors(model: nn.Module) -> dict[str, Tensor]:
    """What a bundle holds of a model: its parameters, and the buffers that are part of it."""
    kept = model.state_dict().keys()
    buffers = {name: tensor for name, tensor in model.named_buffers() if name in kept}
    return {**dict(model.named_parameters()), **buffers}


class Unfilled(TorchFunctionMode):
    """Draws no initial weights: for a model whose weights are read right after it is built."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Room in place of random numbers; anything else as it is."""
        if function is torch.randn:
            return torch.empty(*args)
        if function in (Tensor.uniform_, Tensor.normal_):
            return args[0]
        return function(*args, **(kwargs or {}))


def load_weights(model: nn.Module, path: Path) -> None:
    """Fill a model's weights from a safetensors file; a ModelError if they do not fit."""
    stored, wanted = stored_weights(path), stored_tensors(model)
    if odd := misfits(stored, wanted):
        raise ModelError(
            f"{path} does not fit its config.json (first at {odd[0]})",
            "the weights and the configuration of one model",
        )
    fill(wanted, stored)


def fill_from(model: nn.Module, folder: Path, *, others: bool = False) -> None:
    """Fill a model of other settings, but with weights of the same shapes, from a bundle.

    others: whether the bundle may hold weights that the model, then a part of one, does not have.
    """
    stored, wanted = stored_weights(folder / "model.safetensors"), stored_tensors(model)
    if others:
        stored = {name: tensor for name, tensor in stored.items() if name in wanted}
    if odd := misfits(stored, wanted):
        raise ModelError(
            f"{len(odd)} weights of the model in {folder} do not fit these settings "
            f"(first {odd[0]})",
            "settings that leave every weight its shape",
            "leave out what changes sizes or parts of the model",
        )
    fill(wanted, stored)


def stored_weights(path: Path) -> dict[str, Tensor]:
    """What a safetensors file holds; a ModelError if it cannot be read."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{path} is missing or damaged ({error})", "weights written by `attn train`"
        ) from None


def misfits(stored: dict[str, Tensor], wanted: dict[str, Tensor]) -> list[str]:
    """Names that only one of them has; if there are none, those of another shape."""
    return sorted(stored.keys() ^ wanted.keys()) or sorted(
        name for name, tensor in stored.items() if tensor.shape != wanted[name].shape
    )


def fill(wanted: dict[str, Tensor], stored: dict[str, Tensor]) -> None:
    """Copy the stored weights."""
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(stored[name])
