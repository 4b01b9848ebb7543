"""Check that settings make a valid model and loss, before data are read."""

from __future__ import annotations

import torch

from attncli.training.loggers import check_loggers
from attncli.training.run.initial_model import check_initial_model
from attncli.training.settings.config import RunConfig, TrainConfig
from models.base.errors import ConfigurationError
from models.base.types import VocabularySizes
from models.bundle import build
from models.losses.losses import AttentionLoss

TOKENS = 1000  # any vocabulary size: the checks do not depend on it


def check_buildable(config: RunConfig) -> None:
    """Raise the ModelError that building the model would raise; allocate no weights."""
    check_schedule(config.train)
    check_loggers(config.train.loggers)
    with torch.device("meta"):
        model = build(config.model, VocabularySizes(TOKENS, TOKENS, config.tokenizer.joint))
    AttentionLoss(config.train.attention, model)
    if config.start_from:
        check_initial_model(config.start_from, config.model, config.tokenizer)


def check_schedule(config: TrainConfig) -> None:
    """Raise ModelError if a linear schedule has no end."""
    if config.schedule == "linear" and not config.minutes and not config.steps:
        raise ConfigurationError("train.schedule=linear", "train.minutes or train.steps with it")
