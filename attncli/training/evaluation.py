"""Evaluation of a model during training: search on the dev set, and its loss."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from attncli.training.config import RunConfig
from attncli.training.data import DevSet, Report
from attncli.training.events import Scores
from attncli.training.tensor_file import read_tensors
from models.bundle import Bundle
from models.errors import DamagedError
from models.loss import LossSum
from models.model import EncoderDecoder
from models.tokenizer import Tokenizer
from models.types import Batch


def dev_scores(
    model: EncoderDecoder, tokenizer: Tokenizer, dev: DevSet, config: RunConfig, report: Report
) -> Scores:
    """Return the dev loss per token and, unless train.metric is loss, the scores of decoding."""
    dev = dev.encoded_by(model, report)
    loss = dev_loss(model, tokenizer, dev, report)
    if config.train.metric == "loss":
        return Scores(loss, None)
    bundle = Bundle(model, tokenizer, config.tokenizer, config.search)
    outputs = dev.outputs(bundle, str(device_of(model)), report)
    return dev.scores(loss, outputs, config.train)


def dev_loss(
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    dev: DevSet,
    report: Report = lambda share: None,
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


@contextlib.contextmanager
def using(model: nn.Module, weights: dict[str, Tensor]) -> Iterator[None]:
    """Replace all or some weights of a model inside a `with` block; restore them at its end."""
    parameters = dict(model.named_parameters())
    lent = [name for name in weights if weights[name].data_ptr() != parameters[name].data_ptr()]
    own = {name: parameters[name].detach().clone() for name in lent}
    try:
        _fill(parameters, {name: weights[name] for name in lent})
        yield
    finally:
        _fill(parameters, own)


@torch.no_grad()
def _fill(parameters: dict[str, nn.Parameter], weights: dict[str, Tensor]) -> None:
    for name, tensor in weights.items():
        parameters[name].copy_(tensor)


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
