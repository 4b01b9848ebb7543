"""Samples of a run: outputs for a few dev examples, and an attention map, at each evaluation.

samples/samples.jsonl    a record per evaluation
samples/index.html       the page of all records

Both are replaced at each evaluation. A run that continues before a recorded evaluation replaces its
record. Of more than KEPT evaluations every second one is removed, so the folder stays small.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from attncli.data.panels import SampledEvaluation, ShownExample
from attncli.render.image_attention.page import STYLE
from attncli.render.training_samples import samples_page
from attncli.training.events import Evaluated
from attncli.training.run.run import Run
from attncli.training.updates.metrics import described, value_of
from models.base.files import write_errors, write_text

KEPT = 30  # evaluations on the page
LETTERS = 1000  # of a text on the page


def save_samples(run: Run, event: Evaluated) -> None:
    """Add the outputs of the evaluated weights to the samples of the run.

    Random numbers and weights are restored, so that the training does not depend on samples.
    """
    count, dev = run.config.train.samples, run.data.dev
    if not count or dev is None:
        return
    devices = [run.device] if run.device.type == "cuda" else []
    with torch.random.fork_rng(devices), run.state.evaluated() as model:
        samples = dev.samples(run.bundle(model), str(run.device), count)
    metric = run.config.train.metric
    score = described(value_of(event.scores, metric), metric)
    evaluation = SampledEvaluation(event.step, score, tuple(map(shortened, samples)))
    add_evaluation(run.folder.samples, run.folder.path.name, evaluation)


def add_evaluation(folder: Path, name: str, evaluation: SampledEvaluation) -> None:
    """Add an evaluation to the records of a folder, and write the page. name: of the run."""
    earlier = [each for each in read_evaluations(folder) if each.step < evaluation.step]
    kept = [*earlier, evaluation]
    if len(kept) > KEPT:
        kept = kept[::-2][::-1]  # every second one, the newest among them
    with write_errors(folder):
        folder.mkdir(exist_ok=True)
    write_text(folder / "samples.jsonl", "".join(map(_as_line, kept)))
    write_text(folder / "index.html", samples_page(name, kept, STYLE))


def read_evaluations(folder: Path) -> list[SampledEvaluation]:
    """Return the recorded evaluations; none if the file is missing or damaged."""
    try:
        lines = (folder / "samples.jsonl").read_text("utf-8").split("\n")
        return [_from_record(json.loads(line)) for line in lines if line]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return []  # samples do not affect the training


def shortened(sample: ShownExample) -> ShownExample:
    """Return a sample whose texts are cut to LETTERS letters."""
    source, reference, output = (
        f"{text[:LETTERS]}..." if len(text) > LETTERS else text for text in sample[:3]
    )
    return sample._replace(source=source, reference=reference, output=output)


def _as_line(evaluation: SampledEvaluation) -> str:
    samples = [sample._asdict() for sample in evaluation.samples]
    return json.dumps({**evaluation._asdict(), "samples": samples}, ensure_ascii=False) + "\n"


def _from_record(record: dict[str, Any]) -> SampledEvaluation:
    samples = tuple(ShownExample(**sample) for sample in record["samples"])
    return SampledEvaluation(int(record["step"]), record["score"], samples)
