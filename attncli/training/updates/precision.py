"""Precision of matrix products for `train.precision = "auto"`: a rule by hardware and size.

Hardware that computes bf16 products computes large ones several times as fast as fp32 products. On
a CPU, casts and the compilation of a kernel for each shape cost more than small products save. One
thread of an AMD EPYC with AVX512-bf16, an update in fp32 over one in bf16, by `products`:

    2^22  transformer-nano, batches of 512      0.9      2^25  transformer-nano        1.3
    2^23  transformer-nano, batches of 1,024    1.1      2^27  transformer-tiny        2.3
    2^24  rnnsearch-nano                        0.9      2^28  rnnsearch-small         1.2
"""

from __future__ import annotations

from dataclasses import replace

import torch

from attncli.training.settings.config import TrainConfig
from attncli.training.storage.folder import RunFolder, store_train
from attncli.training.updates.hardware import computes_bf16
from models.config.tables import ModelConfig

LARGE = 2**25  # multiplications from which on bf16 is used on a CPU


def chosen_precision(
    model: ModelConfig, train: TrainConfig, device: torch.device, *, least: int = LARGE
) -> str:
    """Return fp32 or bf16: that of the settings; for auto, by hardware and size.

    least: multiplications of a layer from which on a CPU uses bf16.
    """
    if train.precision != "auto":
        return train.precision
    positions = train.batch_tokens // max(1, train.shards)
    products = positions * model.embedding * model.hidden  # of a layer from one size to the other
    is_large = device.type != "cpu" or products >= least
    return "bf16" if is_large and computes_bf16(device) else "fp32"


def with_precision(
    folder: RunFolder, model: ModelConfig, train: TrainConfig, device: torch.device
) -> TrainConfig:
    """Return the settings with fp32 or bf16 in place of auto, and store the choice in the run.

    A resumed run therefore keeps it on any machine. Only the first versions stored auto in a run
    that has a checkpoint; they used bf16 for every size.
    """
    begun = folder.checkpoint.exists() or folder.previous.exists()
    precision = chosen_precision(model, train, device, least=0 if begun else LARGE)
    train = replace(train, precision=precision)
    store_train(folder, train)
    return train
