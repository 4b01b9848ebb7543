"""Check that settings make a valid model and loss, before data are read."""

from __future__ import annotations

import torch

from attncli.training.loggers import check_loggers
from attncli.training.run.initial_model import check_initial_model
from attncli.training.settings.config import RunConfig
from models.base.errors import ConfigurationError
from models.base.types import VocabularySizes
from models.bundle import build
from models.losses.losses import AttentionLoss

TOKENS = 1000  # any vocabulary size: the checks do not depend on it


def check_buildable(config: RunConfig) -> None:
    """Raise the ModelError that building the model would raise; allocate no weights."""
    train = config.train
    if train.schedule == "linear" and not train.minutes and not train.steps:
        raise ConfigurationError("train.schedule=linear", "train.minutes or train.steps with it")
    check_loggers(train.loggers)
    with torch.device("meta"):
        model = build(config.model, VocabularySizes(TOKENS, TOKENS, config.tokenizer.joint))
    AttentionLoss(train.attention, model)
    if config.start_from:
        check_initial_model(config.start_from, config.model, config.tokenizer)
