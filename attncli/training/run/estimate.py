"""Estimate of a run without training: sizes of model and data, and memory of an update."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attncli.data.batching import Examples, gather
from attncli.training.interfaces import Progress
from attncli.training.run.fit import batches_of, short_run
from attncli.training.run.run import fresh_state
from attncli.training.settings.config import RunConfig, TrainConfig
from attncli.training.sources import training_source
from attncli.training.storage.state import State
from attncli.training.updates.precision import DTYPES, chosen_precision
from attncli.training.updates.stepper import split
from models.base.types import Batch
from models.bundle import sizes_of
from models.losses.losses import SLICE_ELEMENTS, sequence_loss

SAMPLE_ROWS = 4  # examples of a batch that are computed; memory is extrapolated from them
SLICES = 3  # slices of logits that the loss holds at a time
BACKWARD = 2  # factor on the memory of the forward pass, for gradients and fragmentation
PROCESS = 300 * 2**20  # bytes of Python and torch, counted on a CPU


class Estimate(NamedTuple):
    """Sizes of a run, and the memory it needs."""

    parameters: int
    vocabulary: str  # sizes, as text
    pairs: int
    unit: str  # plural name of the examples: "sentence pairs"
    left_out: int
    dev: int  # examples for evaluation
    warnings: tuple[str, ...]
    batches: int  # of an epoch
    target_tokens: int  # of an epoch
    memory_bytes: int  # of the largest update of a process; on a CPU, of the whole process
    processes: int = 1


def estimate(
    config: RunConfig, device: torch.device, progress: Progress, processes: int = 1
) -> Estimate:
    """Return parameters, vocabulary, batches of an epoch and memory; nothing is kept.

    processes: number of processes that the run would have.
    """
    with tempfile.TemporaryDirectory(prefix="attn-dry-run-") as name:
        source = training_source(config.model.family)
        prepared, dev, _ = source.load(config, Path(name), progress)
        sizes = sizes_of(prepared.tokenizer, config.model.family)
        state = fresh_state(config, prepared, device)
        plan = batches_of(prepared.examples, config.train)
        dtype = DTYPES[chosen_precision(config.model, config.train, device)]
        shared, parts = prepared.examples.shared, processes * max(1, config.train.shards)
        extremes = max(plan, key=len), min(plan, key=len)  # most sentences; fewest, longest ones
        largest = [max(split(numbers, parts, shared), key=len) for numbers in extremes]
        activations = [
            activation_bytes(state, prepared.examples, numbers, dtype, device)
            for numbers in largest
        ]
        return Estimate(
            parameters=state.model.parameter_count(),
            vocabulary=source.describe_vocabulary(sizes),
            pairs=prepared.examples.count,
            unit=source.unit,
            left_out=sum(prepared.dropped),
            dev=len(dev) if dev else 0,
            warnings=short_run(prepared.examples, config.train),
            batches=len(plan),
            target_tokens=int(prepared.examples.lengths[1].sum()),
            memory_bytes=(PROCESS if device.type == "cpu" else 0)
            + stored_bytes(state, config.train)
            + BACKWARD * max(activations),
            processes=processes,
        )


def stored_bytes(state: State, config: TrainConfig) -> int:
    """Return the bytes of weights, gradients, Adam's two moments, moving average and logits."""
    weights, learned = (
        sum(p.numel() * p.element_size() for p in parameters)
        for parameters in (state.model.parameters(), state.learned.values())
    )
    copies = 3 + (state.average is not None)  # of the learned parameters
    output = state.model.output.weight
    rows = max(1, SLICE_ELEMENTS // len(output))
    logits = output.numel() * 4 + SLICES * 4 * rows * len(output)  # gradient and slices
    return weights + copies * learned + logits


def activation_bytes(
    state: State, examples: Examples, numbers: np.ndarray, dtype: torch.dtype, device: torch.device
) -> int:
    """Return the bytes of tensors that the forward pass of a batch keeps for the backward pass.

    numbers: of the examples, the longest last. The bytes of a few of these and of twice as many are
    extrapolated linearly: a part, such as weights cast to bf16, is constant.
    """
    few, more = (min(rows, len(numbers)) for rows in (SAMPLE_ROWS, 2 * SAMPLE_ROWS))
    kept, twice = (
        kept_bytes(state, gather(examples, numbers[-rows:], device), dtype) for rows in (few, more)
    )
    return kept + round((twice - kept) / max(1, more - few) * (len(numbers) - few))


def kept_bytes(state: State, batch: Batch, dtype: torch.dtype) -> int:
    """Return the bytes of the storages that autograd saves, without those of the weights."""
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
        # the reference to `forced` keeps the autograd graph and the counted tensors alive
        forced = state.model.teacher_force(batch)
        held = sequence_loss(forced, batch, state.model.output)
    del held
    return sum(kept.values())
