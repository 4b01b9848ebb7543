"""State of a run in files: safetensors with digests of their tensors and of their metadata.

The digests are part of a file, so that both are replaced at once:

    {"attn": "SHA-256 of what follows, {"tensors_sha256": "...", other metadata}"}

One entry holds all metadata, because the library writes several in a random order.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from attncli.training.config import TrainConfig
from attncli.training.folder import RunFolder
from attncli.training.interfaces import AlreadyFinished, FinalModel
from models.core.errors import ConfigurationError, intact, unknown_name
from models.core.files import write_text
from models.core.settings import parse_json

if TYPE_CHECKING:
    from torch import Tensor, nn

    from models.networks.encoder_decoder import EncoderDecoder

ENTRY, TENSORS = "attn", "tensors_sha256"

Metadata = dict[str, str]
PRUNED = ("step", "tokens", "seconds", "best", "ended", "kept")  # counters in finished.json


def to_bytes(tensors: dict[str, Tensor], metadata: Metadata | None = None) -> bytes:
    """Return the content of a file with these tensors and metadata, and their digests."""
    from safetensors.torch import save

    contiguous = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    text = json.dumps({**(metadata or {}), TENSORS: digest(contiguous)})
    return save(contiguous, metadata={ENTRY: f"{hashlib.sha256(text.encode()).hexdigest()} {text}"})


def read_tensors(path: Path) -> tuple[dict[str, Tensor], Metadata]:
    """Return the tensors and metadata of a file.

    Raises DamagedError if the file cannot be read or differs from its digests.
    """
    with intact_file(path):
        with safe_open(path, framework="pt") as file:
            metadata = _checked(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata[TENSORS] != digest(tensors):
            raise ValueError("its tensors differ from their digest")
    return tensors, metadata


def read_metadata(path: Path) -> Metadata:
    """Return the metadata of a file without reading the tensors; see `read_tensors`.

    Imports no torch.
    """
    with intact_file(path), safe_open(path, framework="numpy") as file:
        return _checked(file.metadata() or {})


def intact_file(path: Path) -> AbstractContextManager[None]:
    """Return a context that raises DamagedError if it cannot read a file of a run."""
    hint = "choose another -o; --start-from starts from the weights of this run"
    return intact(path, "a file written by `attn train`", hint, SafetensorError, RuntimeError)


def digest(tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of the names, types, shapes and bytes of some tensors."""
    import torch

    found = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        found.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        flat: Any = tensor.cpu().contiguous().reshape(-1)
        found.update(memoryview(flat.view(torch.uint8).numpy()))
    return found.hexdigest()


def _checked(entries: Metadata) -> Metadata:
    """Return the metadata of a file; raise ValueError if they differ from their digest."""
    expected, _, text = entries[ENTRY].partition(" ")
    # an entry beside the one of all metadata would have no digest
    if len(entries) > 1 or expected != hashlib.sha256(text.encode()).hexdigest():
        raise ValueError("its metadata differ from their digest")
    return json.loads(text)


@dataclass
class Counters:
    """Counters and best scores of a run, as its checkpoint stores them."""

    step: int = 0  # updates done
    epoch: int = 0  # index of the current epoch, from 0
    batch: int = 0  # batches of this epoch done
    tokens: int = 0  # target tokens seen
    seconds: float = 0.0  # time spent on updates
    elapsed: float = 0.0  # training time in seconds, evaluations included
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
    level: float | None = None  # moving average of the loss of updates
    lowest: float | None = None  # of these averages
    scale: float = 0.0  # fp16: factor on the loss; 0 before the first update
    unscaled: int = 0  # fp16: updates since the factor changed
    ended: str = ""  # reason why the updates ended; "" before
    kept: FinalModel | None = None  # final model, once it is written


def parse_counters(text: str) -> Counters:
    """Return counters that were stored as JSON."""
    counters = Counters(**parse_json(text))
    return dataclasses.replace(counters, kept=counters.kept and FinalModel(*counters.kept))


def read_progress(folder: RunFolder) -> Counters | None:
    """Return the counters of a run, without reading its weights; None before its first checkpoint.

    Raises DamagedError if finished.json or the checkpoint is damaged.
    """
    if not folder.is_pruned:
        return read_counters(folder)
    with intact_file(folder.finished):
        return parse_counters(folder.finished.read_text("utf-8"))


def read_counters(folder: RunFolder) -> Counters | None:
    """Return the counters of the checkpoint; None if there is none."""
    if not folder.checkpoint.exists():
        return None
    metadata = read_metadata(folder.checkpoint)
    with intact_file(folder.checkpoint):
        return parse_counters(metadata["counters"])


def finished_run(folder: RunFolder) -> AlreadyFinished | None:
    """Return the event of a finished run; None for one that has not finished."""
    counters = read_progress(folder)
    if counters is None or counters.kept is None:
        return None
    return AlreadyFinished(counters.step, counters.ended, counters.kept)


def write_finished(folder: RunFolder) -> None:
    """Write finished.json of a finished run, whose checkpoint is then removed."""
    counters = read_progress(folder)
    record = {name: getattr(counters, name) for name in PRUNED}
    write_text(folder.finished, json.dumps(record, indent=2) + "\n")


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
