"""Weights of a bundle, and their precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from models.core.errors import ConfigurationError, DamagedError, intact
from models.core.files import check_regular
from models.storage.digests import check_digests
from models.storage.settings import WEIGHTS, Shared, WeightPrecision, read_settings, shared_of
from models.text.vocabulary import SILENT

SCALE = ".scale"  # NAME is int8, NAME.scale its scale
LARGEST = 127
SHORTEST_ROW = 8  # numbers
ALLOCATING = (torch.empty, torch.zeros, torch.ones, torch.randn, torch.rand, torch.full)
SPARE = 1_000_000  # numbers that a model may need beyond twice its weights


def stored_as(precision: WeightPrecision, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors that store some weights in a precision: int8 has one scale per row.

        w_ij ~ s_i q_ij,    q_ij = round(w_ij / s_i) in -127 .. 127,    s_i = max_j |w_ij| / 127

    s_i is stored as bfloat16, which has 8 significant bits: the largest q of a row is then 127, and
    127 s_i is exact in float32. Quantising restored weights therefore gives the same q and s again.
    Vectors, and matrices of short rows, are stored in fp32: they are small, and a scale saves
    nothing.
    """
    if precision == "fp32":
        return weights
    found: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        is_matrix = tensor.is_floating_point() and tensor.dim() > 1 and len(tensor) > 0
        if is_matrix and tensor[0].numel() >= SHORTEST_ROW:
            found[name], found[name + SCALE] = quantised(tensor)
        else:
            found[name] = tensor
    return found


def restored(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the fp32 weights that `stored_as` stored."""
    scales = {name + SCALE for name, tensor in tensors.items() if tensor.dtype == torch.int8}
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.dtype == torch.int8:
            scale = tensors.get(name + SCALE)
            if tensor.dim() == 0 or scale is None or scale.shape != tensor.shape[:1]:
                raise ValueError(f"{name} is int8 without a scale per row")
            found[name] = tensor.float() * scale.float().view(-1, *[1] * (tensor.dim() - 1))
        elif name not in scales:
            found[name] = tensor
    return found


def quantised(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return q (N, ...) and s (N,) of weights (N, ...)."""
    rows = weights.detach().float().flatten(1)
    # eight significant bits, so that 127 times a scale is exact in float32 and quantising again
    # changes nothing
    scale = (rows.abs().amax(1) / LARGEST).to(torch.bfloat16)
    # a row of zeros would divide by 0
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    q = (rows / scale.float()[:, None]).round().clamp(-LARGEST, LARGEST)
    return q.to(torch.int8).view(weights.shape), scale


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return the weights by name, each shared matrix once, and the persistent buffers."""
    return {name: tensor.detach().contiguous() for name, tensor in stored_tensors(model).items()}


def stored_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the tensors that a bundle stores: parameters, and persistent buffers."""
    kept = model.state_dict().keys()
    # state_dict names a shared matrix twice; named_parameters once
    buffers = {name: tensor for name, tensor in model.named_buffers() if name in kept}
    return {**dict(model.named_parameters()), **buffers}


class Unfilled(TorchFunctionMode):
    """Context in which models are built without initial weights, because stored ones follow.

    weights: those that follow; the model may allocate about twice as many numbers, so that damaged
    settings cannot exhaust the memory. where: file of these settings, for the error.
    """

    def __init__(self, weights: dict[str, Tensor], where: Path) -> None:
        super().__init__()
        # damaged settings could otherwise allocate gigabytes before the shapes are compared
        self.left = 2 * sum(tensor.numel() for tensor in weights.values()) + SPARE
        self.where = where

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call a function of torch; return uninitialised memory instead of random numbers."""
        kwargs = kwargs or {}
        if function in ALLOCATING and str(kwargs.get("device")) != "meta":
            self._count(args)
        # drawing random numbers takes time, and the stored weights overwrite them
        if function is torch.randn:
            return torch.empty(*args)
        if function in (Tensor.uniform_, Tensor.normal_):
            return args[0]
        return function(*args, **kwargs)

    def _count(self, args: Any) -> None:
        sizes = args[0] if args and isinstance(args[0], (tuple, list)) else args
        self.left -= math.prod(size for size in sizes if isinstance(size, int))
        if self.left < 0:
            raise DamagedError(
                f"{self.where} describes a larger model than its weights",
                "the weights and the configuration of one model",
            )


def fill(model: nn.Module, stored: dict[str, Tensor], path: Path) -> None:
    """Copy weights into a model. path: their file, for the error.

    Raises DamagedError if a name is missing or unknown, or if a shape differs.
    """
    wanted = stored_tensors(model)
    if odd := misfits(stored, wanted):
        raise DamagedError(
            f"{path} does not fit its config.json (first at {odd[0]})",
            "the weights and the configuration of one model",
        )
    _copy(wanted, stored)


def fill_from(
    model: nn.Module,
    folder: Path,
    *,
    others: bool = False,
    parts: Sequence[Sequence[list[int]]] = (),
) -> None:
    """Copy weights into a model from a bundle with other settings but weights of the same shapes.

    others: True if the bundle may contain weights that the model does not have. parts: the tokens
    of the bundle that spell each new token, of the source and of the target.
    """
    stored, wanted = bundle_weights(folder), stored_tensors(model)
    if parts:
        stored = {name: _with_new_rows(name, rows, wanted, parts) for name, rows in stored.items()}
    if others:
        stored = {name: tensor for name, tensor in stored.items() if name in wanted}
    if odd := misfits(stored, wanted):
        raise ConfigurationError(
            f"the model in {folder} has weights that do not fit these settings (first {odd[0]})",
            "settings with the same shape for every weight",
            "leave out settings that change sizes or parts of the model",
        )
    _copy(wanted, stored)


def _with_new_rows(
    name: str, rows: Tensor, wanted: dict[str, Tensor], parts: Sequence[Sequence[list[int]]]
) -> Tensor:
    """Return weights by token (Y, ...) with a row for each new token: the mean of its parts'."""
    if name not in wanted or rows.shape == wanted[name].shape:
        return rows
    of_side = parts[0] if name.startswith("encoder.") else parts[-1]
    # a text without the new tokens keeps its logits, and one with them begins near its former
    # reading
    means = [rows[ids].mean(0) for ids in of_side]
    if rows.dim() == 1:  # a part that no output contains has a bias near minus infinity
        means = [mean if mean > SILENT / 100 else torch.zeros_like(mean) for mean in means]
    return torch.cat([rows, torch.stack(means)])


def bundle_weights(folder: Path) -> dict[str, Tensor]:
    """Return all weights of a bundle, including those that another bundle stores for it.

    Raises DamagedError if a file is missing or damaged, or differs from its digest.
    """
    shared = shared_of(folder, read_settings(folder))
    weights = read_tensors(folder / WEIGHTS)
    if shared:
        weights |= _read_shared(folder, shared)
    check_digests(folder, [WEIGHTS, *([shared.file] if shared else [])])
    return weights


def read_tensors(path: Path, wants: Callable[[str], bool] = lambda name: True) -> dict[str, Tensor]:
    """Return the weights in a safetensors file, restored to fp32 and checked to be finite.

    wants: True for the names to read. The library compares the declared sizes with the length of
    the file before it reads a tensor. Raises DamagedError if the file cannot be read.
    """
    made_by = "weights written by `attn train`"
    with intact(path, made_by, "", SafetensorError), safe_open(path, framework="pt") as file:
        names = filter(wants, file.keys())
        weights = restored({name: file.get_tensor(name) for name in names})
    for name, tensor in weights.items():
        if tensor.is_floating_point() and tensor.numel():
            least, most = tensor.aminmax()  # both are NaN if any number is
            if not (least.isfinite() and most.isfinite()):
                raise DamagedError(
                    f"{path} has weights that are infinite or not numbers (first at {name})",
                    "finite weights",
                    "train again with a lower learning rate, or get the model again",
                )
    return weights


def misfits(stored: dict[str, Tensor], wanted: dict[str, Tensor]) -> list[str]:
    """Return the names that only one side has; if there are none, the names of other shapes."""
    return sorted(stored.keys() ^ wanted.keys()) or sorted(
        name for name, tensor in stored.items() if tensor.shape != wanted[name].shape
    )


def without_shared(tensors: dict[str, Tensor], folder: Path, shared: Shared) -> dict[str, Tensor]:
    """Return the tensors to store, without those that another bundle in the same folder stores.

    Raises ConfigurationError if that bundle has other weights with these names.
    """
    ours = restored({k: v for k, v in tensors.items() if k.startswith(shared.prefix)})
    theirs = _read_shared(folder, shared)
    if odd := misfits(ours, theirs) or [n for n in ours if not torch.equal(ours[n], theirs[n])]:
        raise ConfigurationError(
            f"weights differ from those of {shared.bundle} ({len(odd)}, first {odd[0]})",
            "equal weights, because they are shared",
            "train from that model with its image network frozen, or do not share",
        )
    return {k: v for k, v in tensors.items() if not k.startswith(shared.prefix)}


def _read_shared(folder: Path, shared: Shared) -> dict[str, Tensor]:
    check_regular((folder / shared.file).parent)
    return read_tensors(folder / shared.file, lambda name: name.startswith(shared.prefix))


def _copy(wanted: dict[str, Tensor], stored: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(stored[name])
