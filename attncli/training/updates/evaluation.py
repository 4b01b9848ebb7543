"""Loss of a model on the dev set, and the mean of several snapshots."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from attncli.training.interfaces import DevSet, Report
from attncli.training.storage.tensor_file import read_tensors
from models.base.types import Batch
from models.families.encoder_decoder import EncoderDecoder
from models.losses.losses import sequence_loss
from models.text.tokenizer import Tokenizer


def dev_loss(
    model: EncoderDecoder, tokenizer: Tokenizer, dev: DevSet, report: Report = lambda share: None
) -> float:
    """Return the negative log-likelihood per target token, in nats, without label smoothing."""
    total, tokens = 0.0, 0
    for batch in dev.batches(tokenizer, model):
        report(0.0)
        nll, count = batch_loss(model, batch)
        total, tokens = total + nll, tokens + count
    return total / max(1, tokens)


@torch.inference_mode()
def batch_loss(model: EncoderDecoder, batch: Batch) -> tuple[float, int]:
    """Return the negative log-likelihood of a batch, in nats, and its number of target tokens."""
    found = sequence_loss(model.eval().teacher_force(batch), batch, model.output)
    return float(found.nll.sum()), len(found.nll)


def device_of(model: nn.Module) -> torch.device:
    """Return the device of a model."""
    return next(model.parameters()).device


def averaged(paths: list[Path]) -> dict[str, Tensor]:
    """Return the mean of several snapshots' weights."""
    total: dict[str, Tensor] = {}
    for path in paths:
        snapshot, _ = read_tensors(path)
        for name, tensor in snapshot.items():
            total[name] = total[name] + tensor if name in total else tensor
    return {name: tensor / len(paths) for name, tensor in total.items()}
