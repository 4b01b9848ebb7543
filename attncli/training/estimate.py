"""What a run would be, without running it: sizes, and the memory of one update."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attncli.data.batching import epoch_plan, gather
from attncli.training import hardware
from attncli.training.config import RunConfig
from attncli.training.data import Progress
from attncli.training.run import fresh_state
from attncli.training.sources import training_source
from attncli.training.state import State
from models.bundle import sizes_of
from models.loss import SLICE_ELEMENTS, LossSum
from models.types import Batch

SAMPLE_ROWS = 4  # sentences of a batch that are really computed; the rest is proportion
SLICES = 3  # of logits that the loss holds at a time
BACKWARD = 2  # times what the forward pass keeps: its gradients, and blocks that do not fit again
PROCESS = 300 * 2**20  # Python and torch themselves, where they share the memory


class Estimate(NamedTuple):
    """What a run would be."""

    parameters: int
    vocabulary: str  # sizes, as text
    pairs: int
    unit: str  # plural name of the examples: "sentence pairs"
    left_out: int
    batches: int  # of an epoch
    target_tokens: int  # of an epoch
    memory_bytes: int  # at the largest update; on a CPU that of the whole process


def estimate(config: RunConfig, device: torch.device, progress: Progress) -> Estimate:
    """Parameters, vocabulary, batches of an epoch and memory; nothing is trained."""
    with tempfile.TemporaryDirectory(prefix="attn-dry-run-") as name:
        source = training_source(config.model.family)
        prepared = source.load(config, Path(name), progress).prepared
        sizes = sizes_of(prepared.tokenizer, config.model.family)
        state = fresh_state(config, prepared, device)
        seed = config.train.seed
        plan = epoch_plan(prepared.examples, config.train.batch_tokens, seed=seed, epoch=0)
        dtype = hardware.precision(config.train, device)
        batches = [gather(prepared.examples, numbers, device) for numbers in _extremes(plan)]
        return Estimate(
            parameters=state.model.parameter_count(),
            vocabulary=source.describe_vocabulary(sizes),
            pairs=prepared.examples.count,
            unit=source.unit,
            left_out=sum(prepared.dropped),
            batches=len(plan),
            target_tokens=int(prepared.examples.lengths[1].sum()),
            memory_bytes=(PROCESS if device.type == "cpu" else 0)
            + fixed_bytes(state)
            + BACKWARD * max(activation_bytes(state, batch, dtype) for batch in batches),
        )


def _extremes(plan: list[np.ndarray]) -> list[np.ndarray]:
    """The batch of most sentences and the one of fewest, which are the longest."""
    return [max(plan, key=len), min(plan, key=len)]


def fixed_bytes(state: State) -> int:
    """Memory of weights, gradients, Adam's two moments, the moving average and the logits."""
    weights = sum(p.numel() * p.element_size() for p in state.model.parameters())
    learned = sum(p.numel() * p.element_size() for p in state.learned.values())
    copies = 3 + (state.average is not None)  # of what is learned
    output = state.model.output.weight
    rows = max(1, SLICE_ELEMENTS // len(output))
    return weights + copies * learned + output.numel() * 4 + SLICES * 4 * rows * len(output)


def activation_bytes(state: State, batch: Batch, dtype: torch.dtype) -> int:
    """Memory of what a batch's forward pass keeps for the backward pass.

    Counted on a few sentences and on twice as many: what does not grow with them, as the weights
    cast to bf16, is there once.
    """
    rows, few = len(batch.source), min(SAMPLE_ROWS, len(batch.source))
    kept = kept_bytes(state, _first(batch, few), dtype)
    if rows == few:
        return kept
    more = min(2 * few, rows)
    each = (kept_bytes(state, _first(batch, more), dtype) - kept) / (more - few)
    return kept + round(each * (rows - few))


def _first(batch: Batch, sources: int) -> Batch:
    if batch.rows is None:
        return batch.map(lambda tensor: tensor[:sources])
    here = batch.rows < sources
    return Batch(
        batch.source[:sources],
        batch.source_mask[:sources],
        batch.target_in[here],
        batch.target_out[here],
        batch.target_mask[here],
        rows=batch.rows[here],
    )


def kept_bytes(state: State, batch: Batch, dtype: torch.dtype) -> int:
    """Memory of the tensors that autograd saves, each storage once, the weights not."""
    kept = {p.untyped_storage().data_ptr(): 0 for p in state.model.parameters()}

    def count(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept.setdefault(storage.data_ptr(), storage.nbytes())
        return tensor

    state.model.train()
    with (
        torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor),
        torch.autocast(batch.source.device.type, dtype, enabled=dtype != torch.float32),
    ):
        features = state.model.teacher_force(
            batch
        ).features  # held: its graph holds what was counted
        output, mask = state.model.output, batch.target_mask
        held = LossSum(0.0)(features[mask], batch.target_out[mask], output.weight, output.bias)
    del held
    return sum(kept.values())
