"""What a run saves."""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from torch import Tensor

from attncli.render.page import samples_page
from attncli.render.plots import curves
from attncli.task.panels import SampledEvaluation, ShownExample
from attncli.train._checkpoint import read_tensors, to_bytes
from attncli.train._state import content
from attncli.train.events import Evaluated, FinalModel, read_log
from attncli.train.folder import RunFolder
from attncli.train.run import Run
from attncli.training.dev import described, evaluate, improves, value_of
from attncli.training.interfaces import Report
from attncli.training.sources import training_source
from models.core.files import write_bytes, write_errors, write_text
from models.core.use_config import AlignConfig
from models.networks.bundle import save as save_bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.storage.archive import About

KEPT = 30  # evaluations on the page
LETTERS = 1000  # of a text on the page


def save_checkpoint(run: Run) -> None:
    """Write the checkpoint; without a dev set, write the current weights as the bundle too."""
    save_state(run)
    # without a dev set no weights are better than the last ones
    if run.data.dev is None:
        save_weights(run, f"as it was after update {run.state.counters.step}")


def save_state(run: Run) -> None:
    """Write the checkpoint."""
    # the log first: its size is in the checkpoint, and a longer log is cut to it
    run.log.sync()
    run.state.counters.log_bytes = run.log.size
    write_bytes(run.folder.checkpoint, content(run.state))


def save_evaluated(run: Run, event: Evaluated) -> None:
    """Write a snapshot and the checkpoint; write the bundle too if the score is the best so far."""
    counters, count = run.state.counters, run.config.train.average
    if count:
        with write_errors(run.folder.snapshots):
            run.folder.snapshots.mkdir(exist_ok=True)
        write_bytes(run.folder.snapshot(counters.step), to_bytes(run.state.weights()))
        counters.snapshots = [*counters.snapshots, event.step][-count:]
    if event.gained:
        # the bundle before the checkpoint: a kill in between repeats the evaluation, and loses no
        # best weights
        save_weights(run, f"best of the evaluations, at update {event.step}")
    save_checkpoint(run)
    remove_old(run.folder, counters.snapshots)


def remove_old(folder: RunFolder, steps: list[int]) -> None:
    """Remove snapshots other than those of the given steps."""
    for path in folder.snapshots.glob("*.safetensors"):
        if path.is_file() and path not in [folder.snapshot(step) for step in steps]:
            path.unlink()


def save_weights(run: Run, description: str) -> None:
    """Write the state's weights as the bundle of the run folder."""
    with run.state.evaluated() as model:
        save_model(run, model, description, run.state.counters.best)


def save_model(run: Run, model: EncoderDecoder, description: str, score: float | None) -> None:
    """Write a model, with its score on the dev set, as the bundle of the run folder."""
    said = "" if score is None else f"{described(score, run.config.train.metric)} (dev)"
    about = About(languages=run.config.tokenizer.languages, score=said).to_dict()
    save_bundle(run.bundle(model), run.folder.path, card=card(run, description, score), about=about)


def card(run: Run, weights: str, score: float | None) -> str:
    """Return the model card as Markdown. weights: description of the weights in the bundle."""
    config, state = run.config, run.state
    source = training_source(config.model.family)
    data = ", ".join(Path(path).name for path in config.data.files) or source.embedded
    start = f"- Initial model: {Path(config.start_from).name}\n" if config.start_from else ""
    return (
        f"# {config.preset}\n\n"
        f"An attn model of family `{config.model.family}`, "
        f"{state.model.parameter_count():,} parameters.\n\n"
        "## Data and licence\n\n"
        f"- Trained on: {data}\n"
        "- Licence: not stated; add it before sharing the model\n\n"
        "## Recipe\n\n"
        "- Command: `attn train config.toml -o NEW_FOLDER`, with the config.toml of the run\n"
        f"{start}"
        f"- Weights: {weights}\n"
        f"- Target tokens seen: {state.counters.tokens:,} in {state.counters.step:,} updates\n\n"
        "## Scores\n\n"
        f"- {'none' if score is None else described(score, config.train.metric)} on the dev set\n"
    )


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
    """Return the final model; write it if it is not the bundle already.

    The bundle stores which of several attention heads aligns best, if none is known.
    """
    counters, metric, dev = run.state.counters, run.config.train.metric, run.data.dev
    if dev is None:
        return FinalModel("last", None, counters.step)
    best = FinalModel("best", counters.best, counters.best_step, metric)
    final, decoder = save_average(run, report) or best, run.state.model.decoder
    several = decoder.attends and math.prod(decoder.attention_shape) > 1
    if several and run.kept.settings == AlignConfig():
        dev.store_head(run.folder.path, str(run.device))
    return final


def save_average(run: Run, report: Report) -> FinalModel | None:
    """Write the mean of the last snapshots as the bundle, if it scores better than the best."""
    steps, best, dev = run.state.counters.snapshots, run.state.counters.best, run.data.dev
    if dev is None or best is None or len(steps) < 2:
        return None
    mean = averaged([run.folder.snapshot(step) for step in steps])
    with run.state.evaluated(mean) as model:
        scores = evaluate(run.bundle(model), dev, run.config.train, report)
        run.log.write("average", {"of": steps, **scores.as_record()})
        value = value_of(scores, run.config.train.metric)
        if not improves(value, scores.loss, best, run.state.counters.best_loss):
            return None
        of = ", ".join(map(str, steps))
        save_model(run, model, f"average of the evaluations at updates {of}", value)
    return FinalModel(f"average of {len(steps)}", value, steps[-1], run.config.train.metric)


def averaged(paths: list[Path]) -> dict[str, Tensor]:
    """Return the mean of several snapshots' weights."""
    total: dict[str, Tensor] = {}
    for path in paths:
        for name, tensor in read_tensors(path)[0].items():
            total[name] = total[name] + tensor if name in total else tensor
    return {name: tensor / len(paths) for name, tensor in total.items()}


def draw_curves(run: Run) -> None:
    """Draw losses and scores so far to curves.png."""
    curves(run.folder.path / "curves.png", read_log(run.folder.log))


def save_samples(run: Run, event: Evaluated) -> None:
    """Add outputs for a few dev examples, and a map of attention, to the samples of the run.

        samples/samples.jsonl    a record per evaluation
        samples/index.html       the page of all records

    Both are replaced at each evaluation; of more than KEPT evaluations every second one is removed.
    A run that continues before a recorded evaluation replaces its record. Random numbers and
    weights are restored, so that the training does not depend on samples.
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
    add_evaluation(run.folder.samples, run.folder.name, evaluation)


def add_evaluation(folder: Path, name: str, evaluation: SampledEvaluation) -> None:
    """Add an evaluation to the records of a folder, and write the page. name: of the run."""
    earlier = [each for each in read_evaluations(folder) if each.step < evaluation.step]
    kept = [*earlier, evaluation]
    if len(kept) > KEPT:
        kept = kept[::-2][::-1]  # every second one, the newest among them
    with write_errors(folder):
        folder.mkdir(exist_ok=True)
    records = [
        {**one._asdict(), "samples": [sample._asdict() for sample in one.samples]} for one in kept
    ]
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    write_text(folder / "samples.jsonl", "".join(lines))
    write_text(folder / "index.html", samples_page(name, kept))


def read_evaluations(folder: Path) -> list[SampledEvaluation]:
    """Return the recorded evaluations; none if the file is missing or damaged."""
    try:
        lines = (folder / "samples.jsonl").read_text("utf-8").split("\n")
        records = [json.loads(line) for line in lines if line]
        return [
            SampledEvaluation(
                int(record["step"]),
                record["score"],
                tuple(ShownExample(**sample) for sample in record["samples"]),
            )
            for record in records
        ]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return []  # samples do not affect the training


def shortened(sample: ShownExample) -> ShownExample:
    """Return a sample whose texts are cut to LETTERS letters."""
    source, reference, output = (
        f"{text[:LETTERS]}..." if len(text) > LETTERS else text for text in sample[:3]
    )
    return sample._replace(source=source, reference=reference, output=output)
