"""Adam in one fused kernel. Source: Kingma and Ba 2015."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attncli.training.optimisers.base import Optimiser, ParameterGroup
from attncli.training.settings.config import TrainConfig
from models.families.encoder_decoder import EncoderDecoder

BETAS, EPSILON = (0.9, 0.98), 1e-9  # Vaswani et al. 2017, section 5.3


def adam(groups: Sequence[ParameterGroup], config: TrainConfig, model: EncoderDecoder) -> Optimiser:
    """Return Adam."""
    device = groups[0].parameters[0].device
    return torch.optim.Adam(
        [group.options() for group in groups],
        lr=config.lr,
        betas=BETAS,
        eps=EPSILON,
        fused=device.type in ("cpu", "cuda"),
    )
