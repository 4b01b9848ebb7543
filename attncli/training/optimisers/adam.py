"""Adam in one fused kernel. Source: Kingma and Ba 2015."""

from __future__ import annotations

import torch

from attncli.training.interfaces import Groups, Optimiser
from attncli.training.settings.config import TrainConfig
from models.families.encoder_decoder import EncoderDecoder

BETAS, EPSILON = (0.9, 0.98), 1e-9  # Vaswani et al. 2017, section 5.3


def adam(groups: Groups, config: TrainConfig, model: EncoderDecoder) -> Optimiser:
    """Return Adam."""
    fused = groups[0]["params"][0].device.type in ("cpu", "cuda")
    return torch.optim.Adam(groups, lr=config.lr, betas=BETAS, eps=EPSILON, fused=fused)
