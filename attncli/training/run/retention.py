"""Comparison of a run's final model with the initial model: what it learned, what it forgot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torch import Tensor

from attncli.training.interfaces import Change, Compared, Report
from attncli.training.run.run import Run
from attncli.training.storage.log import read_log
from attncli.training.updates.metrics import METRICS, evaluate
from models.storage.weights import bundle_weights


def compared(run: Run, report: Report) -> Compared | None:
    """Return the scores of the initial and of the final model; None for a run from new weights.

    The log has the score of the initial model on the dev set. The replay set is decoded by both.
    """
    kept, metric = run.state.counters.kept, run.config.train.metric
    if not run.config.start_from or kept is None:
        return None
    found = Compared(metric, kept.step, _dev_change(run, kept.score), _replay_change(run, report))
    run.log.write("compared", found._asdict())
    return found


def _dev_change(run: Run, after: float | None) -> Change | None:
    metric = run.config.train.metric
    first = [record for record in read_log(run.folder.log) if record.get("event") == "dev"][:1]
    before = first[0].get(metric) if first and not first[0]["step"] else None
    if before is None or after is None:
        return None
    return Change(-before if METRICS[metric].lower_is_better else before, after)


def _replay_change(run: Run, report: Report) -> Change | None:
    replay, train = run.data.replay, replace(run.config.train, metric="bleu")
    if replay is None:
        return None

    def score(folder: Path) -> float:
        stored = bundle_weights(folder)
        with run.state.evaluated(_learned(run, stored)) as model:
            scores = evaluate(run.bundle(model), replay, train, report)
        return scores.bleu or 0.0

    return Change(score(Path(run.config.start_from)), score(run.folder.path))


def _learned(run: Run, stored: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: stored[name].to(run.device) for name in run.state.learned}
