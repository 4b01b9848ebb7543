"""Evaluation on the dev set, divided among the processes of a run."""

from __future__ import annotations

import json
from itertools import islice

import torch

from attncli.training.events import Scores
from attncli.training.interfaces import DevSet, Report
from attncli.training.processes import ALONE, Processes
from attncli.training.settings.config import TrainConfig
from models.bundle import Bundle
from models.families.encoder_decoder import EncoderDecoder
from models.losses.losses import sequence_loss
from models.text.tokenizer import Tokenizer


def evaluate(
    bundle: Bundle,
    dev: DevSet,
    config: TrainConfig,
    report: Report = lambda share: None,
    processes: Processes = ALONE,
) -> Scores:
    """Return the scores of the bundle's weights; all processes call this."""
    dev = dev.encoded_by(bundle.model, report)
    loss = dev_loss(bundle.model, bundle.tokenizer, dev, report, processes)
    if config.metric == "loss":
        return Scores(loss, None)
    outputs, device = [""] * len(dev), str(next(bundle.model.parameters()).device)
    own = list(range(processes.number, len(dev), processes.size))
    part = dev if processes.size == 1 else dev.some(own)
    found = part.outputs(bundle, device, report) if own else []
    for number, content in enumerate(processes.gather(json.dumps(found).encode())):
        outputs[number :: processes.size] = json.loads(content)
    scores = Scores(loss) if processes.number else dev.scores(loss, outputs, config)
    return Scores(**json.loads(processes.gather(json.dumps(scores._asdict()).encode())[0]))


@torch.inference_mode()
def dev_loss(
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    dev: DevSet,
    report: Report = lambda share: None,
    processes: Processes = ALONE,
) -> float:
    """Return the negative log-likelihood per target token, in nats, without label smoothing."""
    total, tokens = 0.0, 0
    for batch in islice(dev.batches(tokenizer, model), processes.number, None, processes.size):
        report(0.0)
        found = sequence_loss(model.eval().teacher_force(batch), batch, model.output)
        total, tokens = total + float(found.nll.sum()), tokens + len(found.nll)
    total, count = processes.total([total, tokens])
    return total / max(1.0, count)
