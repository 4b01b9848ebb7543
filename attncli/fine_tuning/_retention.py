"""Choice between the initial and the new weights of a run; what the model learned and forgot.

w = w_0 + s (w_1 - w_0)      w_0 initial weights, w_1 trained ones, s a share of the new ones

Source: Wortsman et al. 2022, Robust fine-tuning of zero-shot models, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

import torch
from torch import Tensor

from attncli.task.panels import spread
from attncli.train.events import read_log
from attncli.train.folder import RunFolder
from attncli.train.run import Run, fresh_state
from attncli.train.saving import save_model, save_state
from attncli.training.dev import DevSet, evaluate, value_of
from attncli.training.interfaces import Compared, Report, ScoreChange
from attncli.training.sources import source_of_run
from models.storage.weights import bundle_weights

SHARES = [tenths / 10 for tenths in range(10, 0, -1)]  # of the new weights, as they are tried
SPARED = 2.0  # of the score of the dev set that is given up for old knowledge
# that the replay set may lose: nats per token, and points of the score that is shown
FORGOTTEN = {"loss": 0.08, "bleu": 2.0}
# each share that is tried decodes them again
MEASURED = 200  # examples of the dev set
MIN_BLEU_EXAMPLES = 20  # examples, of which BLEU is often 0, because no four words agree

Tensors = dict[str, Tensor]


def compared(run: Run, report: Report) -> Compared | None:
    """Mix the final weights with the initial ones, so that the model keeps what it knew.

    Return the scores of the initial and of the final model on a part of the dev set and on the
    replay set; None if they are logged already.
    """
    kept, dev, replay = run.state.counters.kept, run.data.dev, run.data.replay
    if kept is None or is_compared(run.folder, kept.step):
        return None
    # the new model that is filled draws random numbers; those of the run stay as they are
    with torch.random.fork_rng([run.device] if run.device.type == "cuda" else []):
        first = fresh_state(source_of_run(run.config), run.data, run.device).weights()
    stored = bundle_weights(run.folder.path)
    last = {name: stored[name].to(run.device) for name in first}
    dev, metric = dev and dev.some(spread(len(dev), MEASURED)), run.config.train.metric
    if dev and metric == "loss":  # of which people cannot judge a change
        metric = dev.default_metric()
        # five held-out photos had BLEU 0.00 before and after, while the loss fell from 3.13 to 2.68
        metric = "rouge_l" if metric == "bleu" and len(dev) < MIN_BLEU_EXAMPLES else metric

    def score(part: DevSet, name: str, share: float) -> float:
        return value(run, mixed(first, last, share), part, name, report)

    share = 1.0
    if replay and kept.step:
        trained = {"-".join(pair) for one in run.config.data.corpora for pair in one.directions}
        share = chosen_share(score, dev, metric, replay.divided(trained))
    own, old = (
        ScoreChange(score(part, name, 0.0), score(part, name, share)) if part else None
        for part, name in ((dev, metric), (replay, "bleu"))
    )
    if share < 1:
        with run.state.evaluated(mixed(first, last, share)) as model:
            save_model(run, model, f"{share:.0%} of update {kept.step}, the rest initial", None)
    found = Compared(metric, kept.step, own, old, share)
    run.log.write("compared", found._asdict())
    save_state(run)  # with the record, so that a run that continues does not mix again
    return found


def chosen_share(
    score: Callable[[DevSet, str, float], float],
    dev: DevSet | None,
    metric: str,
    known: Sequence[DevSet],
) -> float:
    """Return the smallest share that learned about as much as all new weights did.

    score: that of a share on a set. known: replay sets, of the directions of the run and of others.
    The share is smaller if it costs too much of one.
    """
    share = SHARES[0]
    if dev:
        enough = score(dev, metric, share) - SPARED
        # from large to small, because each step loses a little; the first that loses too much ends
        # the search
        lesser = takewhile(lambda one: score(dev, metric, one) >= enough, SHARES[1:])
        share = min(lesser, default=share)
    limits = [(part, name, most) for name, most in FORGOTTEN.items() for part in known]
    before = [score(part, name, 0.0) for part, name, _ in limits]

    def keeps(one: float) -> bool:
        rows = zip(limits, before, strict=True)
        return all(first - score(part, name, one) <= most for (part, name, most), first in rows)

    return next(filter(keeps, (one for one in SHARES if one <= share)), SHARES[-1])


def mixed(first: Tensors, last: Tensors, share: float) -> Tensors:
    """Return the weighted mean of two models; share: of the last one."""
    # 75 % of the new weights keep 98.4 of 100 on own lines, and lose 1.1 instead of 1.6 points on
    # Tatoeba
    return {name: first[name].lerp(last[name], share) for name in first}


def value(run: Run, weights: Tensors, dev: DevSet, metric: str, report: Report) -> float:
    """Return the score of weights on a set of examples."""
    train = replace(run.config.train, metric=metric)
    with run.state.evaluated(weights) as model:
        return value_of(evaluate(run.bundle(model), dev, train, report), metric)


def is_compared(folder: RunFolder, step: int) -> bool:
    """Return True unless a finished run was interrupted before its comparison.

    step: update of its final model, which is perhaps mixed already.
    """
    if folder.is_pruned:
        return True
    records = (record for record in read_log(folder.log) if record["event"] == "compared")
    return any(record["step"] == step for record in records)
