"""Evaluation on the dev set, divided among the processes of a run.

All processes compute the same rounds in step. In a round of the loss each computes one batch; in a
round of decoding, UNIT sources. The results are gathered in the order of the dev set, and are those
of a single process: batches of the loss are divided as a whole, and the output for a source does
not depend on its batch.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from itertools import islice
from typing import TypeVar

import torch

from attncli.training.distributed.world import ALONE, EVALUATE, ROUND, Order, World
from attncli.training.events import Scores
from attncli.training.interfaces import DevSet, Report
from attncli.training.settings.config import TrainConfig
from models.base.types import Batch
from models.bundle import Bundle
from models.families.encoder_decoder import EncoderDecoder
from models.losses.losses import sequence_loss
from models.text.tokenizer import Tokenizer

UNIT = 128  # sources that a process decodes in a round

T = TypeVar("T")


def lead_evaluation(
    bundle: Bundle, dev: DevSet, config: TrainConfig, report: Report, world: World
) -> Scores:
    """Return the scores of an evaluation that all processes compute together; for process 0.

    bundle: has the weights to evaluate; every process has its own copy.
    """
    world.announce(Order(EVALUATE))
    return lead_rounds(evaluation_rounds(bundle, dev, config, world, report), report, world)


def dev_loss(
    model: EncoderDecoder, tokenizer: Tokenizer, dev: DevSet, report: Report = lambda share: None
) -> float:
    """Return the negative log-likelihood per target token, in nats, without label smoothing."""
    return lead_rounds(loss_rounds(model, tokenizer, dev, ALONE), report, ALONE)


def lead_rounds(rounds: Generator[float, None, T], report: Report, world: World) -> T:
    """Announce each round, and return what they compute together; for process 0."""
    try:
        while True:
            report(next(rounds))
            world.announce(Order(ROUND))
    except StopIteration as end:
        return end.value


def evaluation_rounds(
    bundle: Bundle,
    dev: DevSet,
    config: TrainConfig,
    world: World,
    report: Report = lambda share: None,
) -> Generator[float, None, Scores]:
    """Yield the share done before each round; return the scores (other processes: the loss).

    report: is called while the dev set is encoded, and in the decoding of a single process. A
    round is computed by all processes together, so nothing may interrupt one inside it.
    """
    dev = dev.encoded_by(bundle.model, report)
    loss = yield from loss_rounds(bundle.model, bundle.tokenizer, dev, world)
    if config.metric == "loss":
        return Scores(loss, None)
    outputs = yield from output_rounds(bundle, dev, world, report)
    return Scores(loss, None) if world.number else dev.scores(loss, outputs, config)


def output_rounds(
    bundle: Bundle, dev: DevSet, world: World, report: Report
) -> Generator[float, None, list[str]]:
    """Yield the share done before each round of decoding; return the outputs."""
    device, outputs = str(next(bundle.model.parameters()).device), [""] * len(dev)
    if world.size == 1:
        return dev.outputs(bundle, device, report)
    for start in range(0, len(outputs), UNIT * world.size):
        yield start / len(outputs)
        end = min(start + UNIT * world.size, len(outputs))
        numbers = list(range(start + world.number, end, world.size))
        found = dev.some(numbers).outputs(bundle, device, lambda share: None)
        for number, content in enumerate(world.gather(json.dumps(found).encode())):
            outputs[start + number : end : world.size] = json.loads(content)
    return outputs


def loss_rounds(
    model: EncoderDecoder, tokenizer: Tokenizer, dev: DevSet, world: World
) -> Generator[float, None, float]:
    """Yield before each round of the loss; return that of `dev_loss`."""
    total, tokens = 0.0, 0
    batches = dev.batches(tokenizer, model)
    while group := list(islice(batches, world.size)):
        yield 0.0
        found = torch.zeros(2, dtype=torch.float64)
        if world.number < len(group):
            found[:] = torch.tensor(batch_loss(model, group[world.number]))
        for nll, count in world.collect(found).view(-1, 2)[: len(group)].tolist():
            total, tokens = total + nll, tokens + int(count)
    return total / max(1, tokens)


@torch.inference_mode()
def batch_loss(model: EncoderDecoder, batch: Batch) -> tuple[float, int]:
    """Return the negative log-likelihood of a batch, in nats, and its number of target tokens."""
    found = sequence_loss(model.eval().teacher_force(batch), batch, model.output)
    return float(found.nll.sum()), len(found.nll)
