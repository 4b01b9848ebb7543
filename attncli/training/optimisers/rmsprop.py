"""RMSProp, with which Xu et al. 2015 trained on Flickr8k. Source: Tieleman and Hinton 2012."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attncli.training.optimisers.base import Optimiser, ParameterGroup
from attncli.training.settings.config import TrainConfig
from models.families.encoder_decoder import EncoderDecoder


def rmsprop(
    groups: Sequence[ParameterGroup], config: TrainConfig, model: EncoderDecoder
) -> Optimiser:
    """Return RMSProp; its decay is train.beta2."""
    return torch.optim.RMSprop(
        [group.options() for group in groups],
        config.lr,
        alpha=config.beta2,
        weight_decay=config.weight_decay,
    )
