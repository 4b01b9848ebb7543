"""Evaluation of a model during training: search on the dev set, and its loss."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from attncli.training.events import Scores
from attncli.training.interfaces import DevSet, Report
from attncli.training.settings.config import TrainConfig
from attncli.training.storage.tensor_file import read_tensors
from models.base.errors import DamagedError
from models.base.types import Batch
from models.bundle import Bundle
from models.families.encoder_decoder import EncoderDecoder
from models.losses.losses import LossSum
from models.text.tokenizer import Tokenizer


def dev_scores(bundle: Bundle, dev: DevSet, config: TrainConfig, report: Report) -> Scores:
    """Return the dev loss per token and, unless train.metric is loss, the scores of decoding."""
    dev = dev.encoded_by(bundle.model, report)
    loss = dev_loss(bundle.model, bundle.tokenizer, dev, report)
    if config.metric == "loss":
        return Scores(loss, None)
    outputs = dev.outputs(bundle, str(device_of(bundle.model)), report)
    return dev.scores(loss, outputs, config)


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
    found = LossSum(0.0).of_batch(model.eval().teacher_force(batch), batch, model.output)
    return float(found.nll.sum()), len(found.nll)


def device_of(model: nn.Module) -> torch.device:
    """Return the device of a model."""
    return next(model.parameters()).device


def averaged(paths: list[Path]) -> dict[str, Tensor]:
    """Return the mean of several snapshots' weights."""
    total: dict[str, Tensor] = {}
    for path in paths:
        try:
            snapshot, _ = read_tensors(path)
        except DamagedError as error:
            raise DamagedError(
                error.found,
                error.expected,
                "remove checkpoint*.safetensors in the run folder to train again from the start",
            ) from None
        for name, tensor in snapshot.items():
            total[name] = total[name] + tensor if name in total else tensor
    return {name: tensor / len(paths) for name, tensor in total.items()}
