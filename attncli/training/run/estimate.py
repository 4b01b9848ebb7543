"""Sizes of a run without training: parameters, vocabulary, examples, batches of an epoch."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import torch

from attncli.training.interfaces import Progress
from attncli.training.run.fit import batches_of, short_run
from attncli.training.run.run import fresh_state
from attncli.training.settings.config import RunConfig
from attncli.training.sources import training_source
from models.bundle import sizes_of


class Estimate(NamedTuple):
    """Sizes of a run."""

    parameters: int
    vocabulary: str  # sizes, as text
    pairs: int
    unit: str  # plural name of the examples: "sentence pairs"
    left_out: int
    dev: int  # examples for evaluation
    warnings: tuple[str, ...]
    batches: int  # of an epoch
    target_tokens: int  # of an epoch


def estimate(config: RunConfig, device: torch.device, progress: Progress) -> Estimate:
    """Return the sizes of a run; nothing is kept."""
    with tempfile.TemporaryDirectory(prefix="attn-dry-run-") as name:
        source = training_source(config.model.family)
        prepared, dev, _ = source.load(config, Path(name), progress)
        sizes = sizes_of(prepared.tokenizer, config.model.family)
        state = fresh_state(config, prepared, device)
        return Estimate(
            parameters=state.model.parameter_count(),
            vocabulary=source.describe_vocabulary(sizes),
            pairs=prepared.examples.count,
            unit=source.unit,
            left_out=sum(prepared.dropped),
            dev=len(dev) if dev else 0,
            warnings=short_run(prepared.examples, config.train),
            batches=len(batches_of(prepared.examples, config.train)),
            target_tokens=int(prepared.examples.lengths[1].sum()),
        )
