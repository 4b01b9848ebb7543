"""Scores of a dev set."""

from __future__ import annotations

import json
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from attncli.scoring.caption_metrics import rouge_l
from attncli.scoring.sequences import error_rate
from attncli.scoring.translations import Scoring, sacrebleu_tokens
from attncli.scoring.translations import metrics as sacrebleu_metrics
from attncli.training.interfaces import METRICS, Report, Scores
from attncli.training.processes import ALONE, Processes
from attncli.training.settings.config import TrainConfig

if TYPE_CHECKING:
    from attncli.training.dev import DevSet
    from models.networks.bundle import Bundle
    from models.networks.encoder_decoder import EncoderDecoder
    from models.text.tokenizer import Tokenizer


def metric_scores(
    config: TrainConfig, outputs: list[str], references: list[list[str]]
) -> dict[str, Any]:
    """Return the score that is computed only if a run stops by it, by its name in `Scores`.

    references: of each output.
    """
    metric = config.metric
    if metric == "error_rate":
        tokenize = sacrebleu_tokens(config.bleu_tokenizer)
        return {metric: error_rate(outputs, references, tokenize=tokenize)}
    if metric == "rouge_l":
        return {metric: rouge_l(outputs, references)}
    if metric in ("chrf", "ter"):
        _, chrf, ter = sacrebleu_metrics(Scoring(config.bleu_tokenizer))
        columns: Any = [*zip_longest(*references)]
        found = (chrf if metric == "chrf" else ter).corpus_score(outputs, columns)
        return {metric: float(found.score)}
    return {}


def value_of(scores: Scores, metric: str) -> float:
    """Return a metric's value, negated if lower is better; if it is missing, that of the loss."""
    found = getattr(scores, metric)
    if found is None:
        return -scores.loss
    return -float(found) if METRICS[metric].lower_is_better else float(found)


def improves(value: float, loss: float, best: float | None, best_loss: float | None) -> bool:
    """Return True if a value is higher than the best, or equal with a lower loss."""
    if best is None or value > best:
        return True
    return value == best and best_loss is not None and loss < best_loss


def described(value: float, metric: str) -> str:
    """Return a value of `value_of` as text, with the metric's name."""
    kind = METRICS[metric]
    return f"{kind.label} {-value if kind.lower_is_better else value:.{kind.digits}f}"


def evaluate(
    bundle: Bundle,
    dev: DevSet,
    config: TrainConfig,
    report: Report = lambda share: None,
    processes: Processes = ALONE,
) -> Scores:
    """Return the scores of the bundle's weights; all processes call this, and share the work."""
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


def dev_loss(
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    dev: DevSet,
    report: Report = lambda share: None,
    processes: Processes = ALONE,
) -> float:
    """Return the negative log-likelihood per target token, in nats, without label smoothing."""
    import torch

    from models.networks.losses import sequence_loss

    total, tokens = 0.0, 0
    batches = islice(dev.batches(tokenizer, model), processes.number, None, processes.size)
    with torch.inference_mode():
        for batch in batches:
            report(0.0)
            found = sequence_loss(model.eval().teacher_force(batch), batch, model.output)
            total, tokens = total + float(found.nll.sum()), tokens + len(found.nll)
    total, count = processes.total([total, tokens])
    return total / max(1.0, count)
