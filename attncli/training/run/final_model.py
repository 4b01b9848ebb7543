"""End of a run: the final weights, the head to align with, the curves."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor

from attncli.render.plots import curves
from attncli.training.distributed.evaluation import DividedEvaluation, lead_evaluation
from attncli.training.distributed.world import ALONE
from attncli.training.events import FinalModel
from attncli.training.interfaces import Report
from attncli.training.run.run import Run
from attncli.training.run.snapshots import remove_old, save_model, save_state
from attncli.training.sources import training_source
from attncli.training.storage.log import read_log
from attncli.training.storage.tensor_file import read_tensors
from attncli.training.updates.metrics import improves, value_of
from models.config.tables import AlignConfig


def finish(run: Run, report: Report) -> FinalModel:
    """Select the best weights, or the average of the last snapshots if it scores better."""
    counters = run.state.counters
    # random numbers are restored, so that a run whose limits are raised continues as it would have
    with torch.random.fork_rng([run.device] if run.device.type == "cuda" else []):
        final = select(run, report)
    draw_curves(run)
    remove_old(run.folder, counters.snapshots)  # a killed process may have left some
    counters.kept = final
    save_state(run)
    return final


def select(run: Run, report: Report) -> FinalModel:
    """Return the final model; write it if it is not the bundle already."""
    counters, metric = run.state.counters, run.config.train.metric
    if run.data.dev is None:
        return FinalModel("last", None, counters.step)
    best = FinalModel("best", counters.best, counters.best_step, metric)
    final = save_average(run, report) or best
    choose_head(run)
    return final


def save_average(run: Run, report: Report) -> FinalModel | None:
    """Write the mean of the last snapshots as the bundle, if it scores better than the best."""
    steps, best, dev = run.state.counters.snapshots, run.state.counters.best, run.data.dev
    if dev is None or best is None or len(steps) < 2:
        return None
    mean = averaged([run.folder.snapshot(step) for step in steps])
    with run.state.evaluated(mean) as model:
        evaluation = DividedEvaluation(run.bundle(model), dev, run.config.train)
        scores = lead_evaluation(evaluation, report, ALONE)
        run.log.write("average", {"of": steps, **scores.as_record()})
        value = value_of(scores, run.config.train.metric)
        if not improves(value, scores.loss, best, run.state.counters.best_loss):
            return None
        save_model(
            run, model, f"average of the evaluations at updates {', '.join(map(str, steps))}"
        )
    return FinalModel(f"average of {len(steps)}", value, steps[-1], run.config.train.metric)


def averaged(paths: list[Path]) -> dict[str, Tensor]:
    """Return the mean of several snapshots' weights."""
    total: dict[str, Tensor] = {}
    for path in paths:
        for name, tensor in read_tensors(path)[0].items():
            total[name] = total[name] + tensor if name in total else tensor
    return {name: tensor / len(paths) for name, tensor in total.items()}


def choose_head(run: Run) -> None:
    """Store in the bundle which of several attention heads aligns best, if none is known."""
    decoder, dev = run.state.model.decoder, run.data.dev
    several = decoder.attends and math.prod(decoder.attention_shape) > 1
    if dev is not None and several and run.aligner.settings == AlignConfig():
        source = training_source(run.config.model.family)
        source.store_head(run.folder.path, dev, device=str(run.device))


def draw_curves(run: Run) -> None:
    """Draw losses and scores so far to curves.png."""
    curves(run.folder.path / "curves.png", read_log(run.folder.log))
