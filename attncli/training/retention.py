"""Comparison of a run's final model with the initial model: what it learned, what it forgot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from attncli.training.dev import DevSet
from attncli.training.folder import RunFolder
from attncli.training.interfaces import Compared, Report, ScoreChange
from attncli.training.log import read_log
from attncli.training.metrics import evaluate, value_of
from attncli.training.run import Run
from models.networks.bundle import read
from models.storage.weights import bundle_weights

FEW = 20  # examples, of which BLEU is often 0, because no four words agree


def compared(run: Run, report: Report) -> Compared | None:
    """Return the scores of the initial and of the final model; None for a run from new weights.

    Both models decode the dev set and the replay set.
    """
    kept, dev = run.state.counters.kept, run.data.dev
    if not run.config.start_from or kept is None:
        return None
    metric = run.config.train.metric
    if metric == "loss" and dev:  # of which people cannot judge a change
        metric = dev.default_metric()
        if metric == "bleu" and len(dev) < FEW:
            metric = "rouge_l"
    found = Compared(
        metric,
        kept.step,
        _change(run, dev, metric, report),
        _change(run, run.data.replay, "bleu", report),
    )
    run.log.write("compared", found._asdict())
    return found


def is_compared(folder: RunFolder, start_from: str) -> bool:
    """Return False for a finished run that was interrupted before its comparison."""
    if not start_from or folder.is_pruned:
        return True
    return any(record["event"] == "compared" for record in read_log(folder.log))


def _change(run: Run, dev: DevSet | None, metric: str, report: Report) -> ScoreChange | None:
    """Return the scores of both models on a set of examples; None without it."""
    if dev is None:
        return None
    train = replace(run.config.train, metric=metric)

    def score(folder: Path) -> float:
        stored = bundle_weights(folder)
        if run.config.tokenizer.model and folder != run.folder.path:  # has fewer tokens
            first = read(folder)
            bundle = run.bundle(first.model.to(run.device))._replace(tokenizer=first.tokenizer)
            return value_of(evaluate(bundle, dev, train, report), metric)
        learned = {name: stored[name].to(run.device) for name in run.state.learned}
        with run.state.evaluated(learned) as model:
            return value_of(evaluate(run.bundle(model), dev, train, report), metric)

    return ScoreChange(score(Path(run.config.start_from)), score(run.folder.path))
