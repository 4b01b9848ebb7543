"""Train variants with one budget on the same data; yield a row of scores for each run.

OUT/train.tsv dev.tsv test.tsv  embedded data, if no files were given
OUT/VARIANT/seed-N/             a run folder as of `attn train`, and measured.json
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from attncli.compare._scores import RunScores, from_record
from attncli.compare._variants import TestFiles, Variant, comparison_of
from attncli.data.corpus import MIN_DEV_SOURCES, fingerprint
from attncli.scoring.score import MetricScore
from attncli.train.estimate import Estimate, RunTime
from attncli.train.events import RunEvent, Started
from attncli.train.folder import (
    RunFolder,
    can_continue,
    check_claim,
    check_schedule,
    claim,
    finished_run,
    read_counters,
    read_progress,
    with_stored_choices,
)
from attncli.train.job import (
    StopRequested,
    check_buildable,
    dry_run,
    fingerprints,
    stoppable,
    train,
)
from attncli.training.config import DataConfig, RunConfig, TrainConfig
from attncli.training.dev import DevSet, evaluate
from attncli.training.interfaces import Progress
from attncli.training.sources import source_of_run
from models.core.errors import ModelError, naming
from models.core.files import locked, write_errors, write_text
from models.core.settings import parse_json
from models.core.sources import source_of
from models.engines.trained import usable_device
from models.networks.bundle import Bundle, read

MEASURED = "measured.json"  # in the run folder
# math.exp raises OverflowError beyond 709
MAX_LOSS = 700  # nats per token; the perplexity of a larger one has no number
# Settings that do not change the time of an update, or that are read for each run.
UNTIMED = (
    *("steps", "epochs", "minutes", "patience", "evaluate_every", "average", "seed"),
    *("lr", "schedule", "warmup", "plateau_patience", "label_smoothing"),
)


class Tests(NamedTuple):
    """Test set of a comparison."""

    files: Sequence[Path]  # none: there is no test set
    gold: Any | None  # links of its words, or of those of the dev set
    mark: str  # hash of the content of these files


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


def prepare(base: RunConfig, given: TestFiles, folder: Path) -> tuple[DataConfig, Tests]:
    """Return the data of all runs and the test set; write embedded data to the folder."""
    source = source_of_run(base)
    files, gold, index = given
    if not base.data.is_given:
        with write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        source.demonstrate(folder.absolute())
        files, links = [folder / "test.tsv"], folder / "test.links"
        gold, index = (links, "0") if links.exists() else (None, None)
    files = source.tests(files)
    known = source.read_gold(files, gold, index) if gold else None
    hashes = [fingerprint(part) for part in (files, [gold] if gold else []) if part]
    mark = hashlib.sha256(f"{hashes} {index}".encode()).hexdigest()
    return source.data, Tests(files, known, mark)


def plan(variants: Sequence[Variant], data: DataConfig, seeds: int, out: Path) -> list[Planned]:
    """Return the runs, seed by seed; raise ModelError if the folder holds a run itself."""
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
    tests: Tests,
    *,
    best: int = 0,
    device: str,
    progress: Progress,
    stop_requested: StopRequested,
) -> Iterator[RunEvent | Begun | RunScores | Failed]:
    """Train and measure the runs not measured yet; yield the scores of each run, or Failed.

    best: number of variants that are trained with further seeds; 0: all. Raises Interrupted like
    `train`; the same call continues from there. Raises ModelError for data without a dev set.
    """
    check_runs(runs)
    new = claimed([run for run in runs if run.first or not best])
    total = planned_count(runs, best)
    rows: list[RunScores] = []
    for number, run in enumerate(in_turn(runs, rows, best), 1):
        row = measured(run, tests)
        if row is None:
            yield Begun(run, number, total)
            shown = stoppable(progress, stop_requested)
            how: dict[str, Any] = {"progress": progress, "stop_requested": stop_requested}
            try:
                for event in train(run.config, run.folder, device=device, **how):
                    if isinstance(event, Started):
                        check_dev(event, run.config.data.dev_share)
                    yield event
                row = measure(run, tests, device=device, progress=shown)
            except NoDevError:
                for claim in new:  # so that the advice can be followed
                    shutil.rmtree(claim, ignore_errors=True)
                raise
            except ModelError as error:
                yield Failed(run, error)
                continue
        rows.append(row)
        yield row


class NoDevError(ModelError):
    """There is no dev set, by which the weights are chosen."""


def check_dev(sizes: Started | Estimate, share: float) -> None:
    """Raise NoDevError for a run that held out none of its examples. share: data.dev_share."""
    if not sizes.dev:
        raise NoDevError(
            f"no dev set: data.dev_share = {share} of {sizes.pairs:,} {sizes.unit}",
            f"{MIN_DEV_SOURCES} or more, which select the weights",
            "give --dev FILE, or raise data.dev_share",
        )


def missing(runs: Sequence[Planned], tests: Tests, best: int) -> list[Planned]:
    """Return the runs that are not measured yet.

    best: number of variants that are trained with further seeds; 0: all. These variants are known
    when every first seed is measured. Until then, the missing first seeds are returned. Raises
    ModelError like `compare` if a folder contains another run.
    """
    check_runs(runs)
    rows = {run: row for run in runs if (row := measured(run, tests))}
    left = [run for run in runs if run.first and run not in rows]
    if left and best:
        return left
    first = [rows[run] for run in runs if run.first and run in rows]
    return [run for run in in_turn(runs, first, best) if run not in rows]


def times_needed(
    runs: Sequence[Planned], tests: Tests, *, device: str, progress: Progress
) -> dict[str, RunTime]:
    """Return the time of one run of each variant, its scores on dev and test set included.

    Variants that differ in UNTIMED settings or in dropout only are timed once.
    """
    usual, source = TrainConfig(), source_of_run(runs[0].config)
    test = source.test_set(tests.files, progress) if tests.files else ()
    timed: dict[RunConfig, Estimate] = {}
    found: dict[str, RunTime] = {}
    for run in runs:
        if run.variant in found:
            continue
        config = run.config
        train = replace(config.train, **{name: getattr(usual, name) for name in UNTIMED})
        model = replace(config.model, dropout=0.0)
        shape = replace(config, train=train, model=model)
        if shape not in timed:
            timed[shape] = dry_run(config, device=device, progress=progress)
            check_dev(timed[shape], config.data.dev_share)
        known = timed[shape]
        needed = known.time_needed(config.train)
        scoring = (known.dev + len(test)) * known.scoring
        found[run.variant] = RunTime(
            needed.seconds + known.preparation + scoring,
            f"{needed.limit}, then the scores of the table",
            needed.may_stop_early,
        )
    return found


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
    # by the dev set: a choice by the test set would make its scores too high
    ranked = sorted(rows, key=lambda row: -row.dev_score)
    chosen = {row.variant for row in ranked[:best]}
    yield from (run for run in runs if not run.first and (not best or run.variant in chosen))


def check_runs(runs: Iterable[Planned]) -> None:
    """Raise a ModelError if the folder of a run contains another run; write nothing."""
    for run in runs:
        folder = RunFolder(run.folder)
        if not run.folder.exists():
            continue
        config, inputs = as_stored(run)
        check_claim(folder, config, inputs)
        if finished_run(folder) and not has_updates_left(run):
            check_schedule(folder, config.train)


def has_updates_left(run: Planned) -> bool:
    """Return True if a finished run has not reached its limits; False for one that diverged."""
    folder = RunFolder(run.folder)
    counters = read_counters(folder)
    diverged = counters is not None and counters.ended.startswith("diverged")
    return can_continue(folder, run.config.train) and not diverged


def claimed(runs: Sequence[Planned]) -> list[Path]:
    """Start every run in its folder; return the new folders.

    Raise a ModelError if a folder contains another run.
    """
    new = []
    for run in runs:
        with locked(run.folder):
            if claim(RunFolder(run.folder), *as_stored(run)):
                new.append(run.folder)
    return new


def as_stored(run: Planned) -> tuple[RunConfig, dict[str, str]]:
    """Return the settings of a run with what its folder stores, and the hashes of its inputs."""
    config = run.config
    train = with_stored_choices(RunFolder(run.folder), config.train)
    return replace(config, train=train), fingerprints(config.data, config.model, config.start_from)


def measured(run: Planned, tests: Tests) -> RunScores | None:
    """Return the stored row of the same test set and updates; None if there is none.

    A run whose limit was raised has updates left, or more of them than its row.
    """
    path = run.folder / MEASURED
    try:
        record = parse_json(path.read_text("utf-8"))
        row = from_record(record["row"]) if record["mark"] == tests.mark else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(
            f"{path} is damaged ({error})", "scores of a run", "remove the file to measure again"
        ) from None
    state = read_progress(RunFolder(run.folder))
    # with a raised limit, the row would show old updates beside the new settings
    is_current = row and state and row.updates == state.step and not has_updates_left(run)
    return row if is_current else None


def measure(run: Planned, tests: Tests, *, device: str, progress: Progress) -> RunScores:
    """Return the row of a finished run, and write it to the run folder."""
    state, config = read_progress(RunFolder(run.folder)), run.config
    assert state is not None, "a finished run"
    source, bundle = source_of_run(config), read(run.folder)
    bundle.model.to(usable_device(device)).eval()
    dev = source.loaded(run.folder, progress).dev
    assert dev is not None, "a run with a dev set"
    test = source.test_set(tests.files, progress) if tests.files else None
    runner = resolve_name(source_of(config.model.family).runner)
    loss, found = scores(bundle, dev, config.train, progress)
    if loss > MAX_LOSS:
        raise ModelError(f"a dev loss of {loss:.3g}", f"at most {MAX_LOSS}", "lower train.lr")
    row = RunScores(
        variant=run.variant,
        seed=config.train.seed,
        dev=found,
        test=scores(bundle, test, config.train, progress)[1] if test else (),
        perplexity=math.exp(loss),
        aer=(test or dev).error_rate(runner(bundle, device), tests.gold) if tests.gold else None,
        parameters=bundle.model.parameter_count(),
        updates=state.step,
        tokens_per_second=state.tokens / max(state.seconds, 1e-9),
        seconds=state.seconds,
        read=bundle.model.read_mode,
    )
    record = {"mark": tests.mark, "row": row.as_record()}
    write_text(run.folder / MEASURED, json.dumps(record, indent=2) + "\n")
    return row


def scores(
    bundle: Bundle, texts: DevSet, train: TrainConfig, progress: Progress
) -> tuple[float, tuple[MetricScore, ...]]:
    """Return the loss of a set in nats per target token, and the scores that are compared."""
    metrics = comparison_of(bundle.model.config.family).metrics
    # of these chrF alone is computed only where it is asked for
    train = replace(train, metric="chrf" if "chrf" in metrics else next(iter(metrics)))
    found = evaluate(bundle, texts, train, lambda share: progress("evaluating", share, 1))
    values = {name: getattr(found, field) for field, name in metrics.items()}
    return found.loss, tuple(MetricScore(name, value) for name, value in values.items())
