"""Whether settings make a model and a loss: known before any data is read."""

from __future__ import annotations

import torch

from attncli.training.config import RunConfig
from attncli.training.initial_model import check_initial_model
from models.bundle import build
from models.loss import AttentionLoss, guided_head
from models.types import VocabularySizes

PIECES = 1000  # any number: what is refused does not depend on it


def check_buildable(config: RunConfig) -> None:
    """Raise the ModelError that building the model would; no weight is given any memory."""
    with torch.device("meta"):
        model = build(config.model, VocabularySizes(PIECES, PIECES, config.tokenizer.joint))
    AttentionLoss(config.train.attention, model)
    if config.data.alignments:
        guided_head(config.train.attention, model)
    if config.start_from:
        check_initial_model(config)
