"""RMSProp, with which Xu et al. 2015 trained on Flickr8k. Source: Tieleman and Hinton 2012."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attncli.training.config import TrainConfig
from attncli.training.optimisers.base import Group, Optimiser
from models.model import EncoderDecoder


def rmsprop(groups: Sequence[Group], config: TrainConfig, model: EncoderDecoder) -> Optimiser:
    """Return RMSProp; its decay is train.beta2."""
    return torch.optim.RMSprop(
        [group.options() for group in groups],
        config.lr,
        alpha=config.beta2,
        weight_decay=config.weight_decay,
    )
