"""Choice between the initial and the new weights of a run; what the model learned and forgot.

w = w_0 + s (w_1 - w_0)      w_0 initial weights, w_1 trained ones, s a share of the new ones

Source: Wortsman et al. 2022, Robust fine-tuning of zero-shot models, section 3.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from attncli.task.panels import spread
from attncli.training.dev import DevSet, evaluate, value_of
from attncli.training.folder import RunFolder
from attncli.training.interfaces import FORGOTTEN, Compared, Report, ScoreChange
from attncli.training.log import read_log
from attncli.training.run import Run, fresh_state
from attncli.training.saving import save_model, save_state
from attncli.training.sources import source_of_run
from models.storage.weights import bundle_weights

SHARES = (1.0, 0.75, 0.5, 0.25)  # of the new weights, in the order in which they are tried
MEASURED = 200  # examples of the dev set
FEW = 20  # examples, of which BLEU is often 0, because no four words agree


def compared(run: Run, report: Report) -> Compared | None:
    """Mix the final weights with the initial ones, so that the model keeps what it knew.

    Return the scores of the initial and of the final model on a part of the dev set and on the
    replay set; None for a run from new weights.
    """
    kept, dev = run.state.counters.kept, run.data.dev
    if kept is None or is_compared(run.folder, run.config.start_from, kept.step):
        return None
    with torch.random.fork_rng([run.device] if run.device.type == "cuda" else []):
        first = fresh_state(source_of_run(run.config), run.data, run.device).weights()
    stored = bundle_weights(run.folder.path)
    last = {name: stored[name].to(run.device) for name in first}
    share, replay = chosen_share(run, first, last, report)
    final, metric, change = mixed(first, last, share), run.config.train.metric, None
    if dev:
        dev = dev.some(spread(len(dev), MEASURED))
        if metric == "loss":  # of which people cannot judge a change
            metric = dev.default_metric()
            metric = "rouge_l" if metric == "bleu" and len(dev) < FEW else metric
        change = ScoreChange(*(value(run, one, dev, metric, report) for one in (first, final)))
    if share < 1:
        with run.state.evaluated(final) as model:
            save_model(run, model, f"{share:.0%} of update {kept.step}, the rest initial", None)
    found = Compared(metric, kept.step, change, replay, share)
    run.log.write("compared", found._asdict())
    save_state(run)  # with the record, so that a run that continues does not mix again
    return found


def chosen_share(
    run: Run, first: dict[str, Tensor], last: dict[str, Tensor], report: Report
) -> tuple[float, ScoreChange | None]:
    """Return the largest share of the new weights that keeps the old knowledge, and its scores."""
    replay, share = run.data.replay, 1.0
    if replay is None:
        return share, None
    before = value(run, first, replay, "bleu", report)
    for share in SHARES:
        after = value(run, mixed(first, last, share), replay, "bleu", report)
        if before - after <= FORGOTTEN:
            break
    return share, ScoreChange(before, after)


def mixed(first: dict[str, Tensor], last: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """Return the weighted mean of two models; share: of the last one."""
    return {name: first[name].lerp(last[name], share) for name in first}


def value(run: Run, weights: dict[str, Tensor], dev: DevSet, metric: str, report: Report) -> float:
    """Return the score of weights on a set of examples."""
    train = replace(run.config.train, metric=metric)
    with run.state.evaluated(weights) as model:
        return value_of(evaluate(run.bundle(model), dev, train, report), metric)


def is_compared(folder: RunFolder, start_from: str, step: int) -> bool:
    """Return True unless a finished run was interrupted before its comparison.

    step: update of its final model, which is perhaps mixed already.
    """
    if not start_from or folder.is_pruned:
        return True
    records = (record for record in read_log(folder.log) if record["event"] == "compared")
    return any(record["step"] == step for record in records)
