"""Train variants with one budget on the same data; yield a row of scores for each run.

OUT/train.tsv dev.tsv test.tsv  embedded data, if no files were given; a dev set that was held out
OUT/VARIANT/seed-N/             a run folder as of `attn train`, and measured.json
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from attncli.jobs.compared import Sets, Trained, compared_source
from attncli.jobs.train import StopRequested, fingerprints, train
from attncli.jobs.variants import Variant
from attncli.scoring.comparison import RunScores, from_record
from attncli.training.interfaces import Interrupted, Progress, RunEvent
from attncli.training.run.configuration import check_buildable
from attncli.training.settings.config import DataConfig, RunConfig
from attncli.training.storage.folder import RunFolder, claim, locked, with_stored_choices
from attncli.training.storage.state import read_progress
from models import load
from models.base.errors import ModelError, naming
from models.base.files import write_text
from models.base.settings import parse_json

MEASURED = "measured.json"  # in the run folder


class Planned(NamedTuple):
    """One run of a comparison, before and after it is trained."""

    variant: str
    config: RunConfig
    folder: Path
    first: bool  # True for the first seed of the variant


class Begun(NamedTuple):
    """Start of a run that is not measured yet."""

    run: Planned
    number: int  # from 1
    total: int


class Failed(NamedTuple):
    """A run that failed; the comparison continues without it."""

    run: Planned
    error: ModelError


def plan(variants: Sequence[Variant], data: DataConfig, seeds: int, out: Path) -> list[Planned]:
    """Return the runs: every variant with the first seed, then with the next.

    Raises ModelError if the folder holds a run itself.
    """
    if RunFolder(out).has_begun:
        raise ModelError(f"{out} holds a run", "a folder of its own", "choose another -o")
    runs = []
    for number, variant in itertools.product(range(seeds), variants):
        train = replace(variant.config.train, seed=variant.config.train.seed + number)
        config = replace(variant.config, data=data, train=train)
        folder = out / variant.folder / f"seed-{train.seed}"
        runs.append(Planned(variant.name, config, folder, first=not number))
    return runs


def check_all(variants: Iterable[Variant]) -> None:
    """Raise a ModelError for a variant that no model can use, before training starts."""
    for name, config in variants:
        with naming(f"variant {name}"):
            check_buildable(config)


def compare(
    runs: Sequence[Planned],
    sets: Sets,
    *,
    best: int = 0,
    device: str,
    progress: Progress,
    stop_requested: StopRequested,
) -> Iterator[RunEvent | Begun | RunScores | Failed]:
    """Train and measure the runs not measured yet; yield the scores of each run, or Failed.

    best: number of variants that are trained with further seeds; 0: all. Raises Interrupted like
    `train`; the same call continues from there.
    """
    claimed([run for run in runs if run.first or not best])
    total = planned_count(runs, best)
    rows: list[RunScores] = []
    for number, run in enumerate(in_turn(runs, rows, best), 1):
        row = measured(run.folder, sets)
        if row is None:
            yield Begun(run, number, total)
            try:
                yield from train(
                    run.config,
                    run.folder,
                    device=device,
                    progress=progress,
                    stop_requested=stop_requested,
                )
                shown = stoppable(progress, stop_requested)
                row = measure(run, sets, device=device, progress=shown)
            except ModelError as error:
                yield Failed(run, error)
                continue
        rows.append(row)
        yield row


def stoppable(progress: Progress, stop_requested: StopRequested) -> Progress:
    """Return a progress display that raises Interrupted on request."""

    def show(label: str, done: float, total: float) -> None:
        progress(label, done, total)
        if stop_requested():
            raise Interrupted

    return show


def missing(runs: Sequence[Planned], sets: Sets, best: int) -> list[Planned]:
    """Return the runs that are not measured yet.

    best: number of variants that are trained with further seeds; 0: all. These variants are known
    when every first seed is measured. Until then, the missing first seeds are returned.
    """
    rows = {run: row for run in runs if (row := measured(run.folder, sets))}
    left = [run for run in runs if run.first and run not in rows]
    if left and best:
        return left
    first = [rows[run] for run in runs if run.first and run in rows]
    return [run for run in in_turn(runs, first, best) if run not in rows]


def planned_count(runs: Sequence[Planned], best: int) -> int:
    """Return the number of runs if the `best` variants get further seeds; 0: all of them."""
    first = sum(run.first for run in runs)
    return first + (len(runs) - first) * min(best or first, first) // first


def in_turn(runs: Sequence[Planned], rows: Sequence[RunScores], best: int) -> Iterator[Planned]:
    """Yield the first seed of every variant, then the further seeds of the best ones.

    rows: scores of the first seeds; complete when the first further seed is requested. best: number
    of variants with the highest dev score that get further seeds; 0: all. The test set does not
    affect the choice.
    """
    yield from (run for run in runs if run.first)
    ranked = sorted(rows, key=lambda row: -row.dev_score)
    chosen = {row.variant for row in ranked[:best]}
    yield from (run for run in runs if not run.first and (not best or run.variant in chosen))


def claimed(runs: Sequence[Planned]) -> None:
    """Start every run in its folder; raise a ModelError if a folder contains another run."""
    for run in runs:
        config, folder = run.config, RunFolder(run.folder)
        with locked(run.folder):
            train = with_stored_choices(folder, config.train)
            found = fingerprints(config.data, config.model, config.start_from)
            claim(folder, replace(config, train=train), found)


def measured(folder: Path, sets: Sets) -> RunScores | None:
    """Return the stored row of the same sets; None if there is none."""
    path = folder / MEASURED
    try:
        record = parse_json(path.read_text("utf-8"))
        return from_record(record["row"]) if record["mark"] == sets.mark else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(
            f"{path} is damaged ({error})", "scores of a run", "remove the file to measure again"
        ) from None


def measure(run: Planned, sets: Sets, *, device: str, progress: Progress) -> RunScores:
    """Return the row of a finished run, and write it to the run folder."""
    state = read_progress(RunFolder(run.folder))
    assert state is not None, "a finished run"
    model = load(run.folder, device=device)
    trained = Trained(
        model, state.kept, run.config, progress, lambda share: progress("evaluating", share, 1)
    )
    scores = compared_source(run.config.model.family).scores(trained, sets)
    row = RunScores(
        variant=run.variant,
        seed=run.config.train.seed,
        dev=scores.dev,
        test=scores.test,
        perplexity=math.exp(scores.loss),
        aer=scores.aer,
        aligned_by=scores.aligned_by,
        parameters=model.model.parameter_count(),
        updates=state.step,
        tokens_per_second=state.tokens / max(state.seconds, 1e-9),
        seconds=state.seconds,
        read=model.read_mode,
    )
    record = {"mark": sets.mark, "row": row.as_record()}
    write_text(run.folder / MEASURED, json.dumps(record, indent=2) + "\n")
    return row
