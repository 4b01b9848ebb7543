"""RMSProp, with which Xu et al. 2015 trained on Flickr8k. Source: Tieleman and Hinton 2012."""

from __future__ import annotations

import torch

from attncli.training.interfaces import Groups, Optimiser
from attncli.training.optimisers.adam import BETAS
from attncli.training.settings.config import TrainConfig
from models.families.encoder_decoder import EncoderDecoder


def rmsprop(groups: Groups, config: TrainConfig, model: EncoderDecoder) -> Optimiser:
    """Return RMSProp; its decay is that of the second moment of Adam."""
    return torch.optim.RMSprop(groups, config.lr, alpha=BETAS[1])
