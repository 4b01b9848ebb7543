"""Training in a process other than number 0."""

from __future__ import annotations

from pathlib import Path

import torch

from attncli.processes._group import Processes
from attncli.train.fit import fit
from attncli.train.folder import RunFolder
from attncli.train.job import evaluator
from attncli.train.precision import DTYPES, limit_kernel_caches
from attncli.train.run import completed, stored_state
from attncli.training.config import RunConfig
from attncli.training.sources import source_of_run
from models.core.use_config import SearchConfig
from models.networks.bundle import Bundle


def train_along(group: Processes, config: RunConfig, path: Path, device: str) -> None:
    """Train to the end of a run, which process 0 prepares and saves."""
    limit_kernel_caches()
    data = source_of_run(config).loaded(path, lambda label, done, total: None)
    config = completed(config, data)
    state = stored_state(RunFolder(path), source_of_run(config), data, torch.device(device))
    tables = (data.tokenizer, config.tokenizer, SearchConfig(**vars(config.search)))
    bundle = Bundle(state.model, *tables, prepare=data.prepare)
    score = evaluator(bundle, data.dev, config.train, group)
    dtype = DTYPES[config.train.precision]
    for _ in fit(state, data.examples, score, config.train, dtype, data.reward_loss, world=group):
        if group.first(False):
            return
