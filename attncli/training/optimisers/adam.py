"""Adam and AdamW in one fused kernel. Source: Kingma and Ba 2015; Loshchilov and Hutter 2019."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attncli.training.optimisers.base import Optimiser, ParameterGroup
from attncli.training.settings.config import TrainConfig
from models.families.encoder_decoder import EncoderDecoder

BETAS, EPSILON = (0.9, 0.98), 1e-9  # Vaswani et al. 2017, section 5.3


def adam(groups: Sequence[ParameterGroup], config: TrainConfig, model: EncoderDecoder) -> Optimiser:
    """Return Adam; weight decay is added to the gradient."""
    return _fused(torch.optim.Adam, groups, config)


def adamw(
    groups: Sequence[ParameterGroup], config: TrainConfig, model: EncoderDecoder
) -> Optimiser:
    """Return AdamW; weight decay shrinks the weights directly."""
    return _fused(torch.optim.AdamW, groups, config)


def _fused(
    kind: type[torch.optim.Adam], groups: Sequence[ParameterGroup], config: TrainConfig
) -> Optimiser:
    device = groups[0].parameters[0].device
    return kind(
        [group.options() for group in groups],
        lr=config.lr,
        betas=BETAS,
        eps=EPSILON,
        weight_decay=config.weight_decay,
        fused=device.type in ("cpu", "cuda"),
    )
