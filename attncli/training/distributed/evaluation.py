"""Evaluation divided among the processes of a run.

All processes compute the same rounds in step. In a round of the loss each computes one batch; in a
round of decoding, UNIT sources. The results are gathered in the order of the dev set, and are those
of a single process: batches of the loss are divided as a whole, and the output for a source does
not depend on its batch.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from itertools import islice
from typing import NamedTuple

import torch

from attncli.training.distributed.world import EVALUATE, ROUND, Order, World
from attncli.training.events import Scores
from attncli.training.interfaces import DevSet, Report
from attncli.training.settings.config import TrainConfig
from attncli.training.updates.evaluation import batch_loss, device_of
from models.bundle import Bundle

UNIT = 128  # sources that a process decodes in a round

Rounds = Generator[float, None, Scores]  # yields the share done before each round


class DividedEvaluation(NamedTuple):
    """Model and dev set of an evaluation; every process has its own copy of the model."""

    bundle: Bundle
    dev: DevSet
    config: TrainConfig

    def rounds(self, world: World, report: Report = lambda share: None) -> Rounds:
        """Yield before each round; return the scores in process 0, and the loss in the others.

        report: is called while the dev set is encoded, and in the decoding of a single process. A
        round is computed by all processes together, so nothing may interrupt one inside it.
        """
        one = self._replace(dev=self.dev.encoded_by(self.bundle.model, report))
        loss = yield from one._loss(world)
        if self.config.metric == "loss":
            return Scores(loss, None)
        outputs = yield from one._outputs(world, report)
        if world.number:
            return Scores(loss, None)
        return one.dev.scores(loss, outputs, self.config)

    def _loss(self, world: World) -> Generator[float, None, float]:
        total, tokens = 0.0, 0
        batches = iter(self.dev.batches(self.bundle.tokenizer, self.bundle.model))
        while group := list(islice(batches, world.size)):
            yield 0.0
            found = torch.zeros(2, dtype=torch.float64)
            if world.number < len(group):
                found[:] = torch.tensor(batch_loss(self.bundle.model, group[world.number]))
            for nll, count in world.collect(found).view(-1, 2)[: len(group)].tolist():
                total, tokens = total + nll, tokens + int(count)
        return total / max(1, tokens)

    def _outputs(self, world: World, report: Report) -> Generator[float, None, list[str]]:
        device, outputs = str(device_of(self.bundle.model)), [""] * len(self.dev)
        if world.size == 1:
            return self.dev.outputs(self.bundle, device, report)
        for start in range(0, len(outputs), UNIT * world.size):
            yield start / len(outputs)
            end = min(start + UNIT * world.size, len(outputs))
            numbers = list(range(start + world.number, end, world.size))
            found = self.dev.some(numbers).outputs(self.bundle, device, lambda share: None)
            for number, content in enumerate(world.gather(json.dumps(found).encode())):
                outputs[start + number : end : world.size] = json.loads(content)
        return outputs


def lead_evaluation(evaluation: DividedEvaluation, report: Report, world: World) -> Scores:
    """Return the scores of an evaluation that all processes compute together; for process 0."""
    world.announce(Order(EVALUATE))
    rounds = evaluation.rounds(world, report)
    try:
        while True:
            report(next(rounds))
            world.announce(Order(ROUND))
    except StopIteration as end:
        return end.value
