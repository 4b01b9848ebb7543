"""Runs of a comparison: planned, timed, trained; their tables and plots written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from attncli import console
from attncli.commands.compare_settings import Measured, has_labels
from attncli.commands.train import Stop, memory_advice, stopping
from attncli.commands.train_display import Display
from attncli.data.streams import open_output
from attncli.jobs.variants import Variant
from attncli.plurals import counted
from attncli.render.columns import columns
from attncli.render.comparison import WRITERS, draw_comparison
from attncli.render.duration import duration
from attncli.render.plots import FORMATS
from attncli.scoring.comparison import RunScores
from attncli.training.config import RunConfig
from attncli.training.events import Interrupted
from models.files import write_text

if TYPE_CHECKING:
    from attncli.jobs.compare import Planned
    from attncli.jobs.measure import Sets


class Work(NamedTuple):
    """The runs of a comparison and what they are measured on."""

    runs: list[Planned]
    sets: Sets


def prepare(
    found: list[Variant],
    base: RunConfig,
    measured: Measured,
    output: Path,
    seeds: int,
    *,
    texts: Path | None = None,
) -> Work:
    """Return the planned runs; check everything that can be checked before the first run.

    texts: folder for sentences of the embedded grammar; by default that of the output.
    """
    from attncli.jobs import compare as job  # imports torch

    job.check_all(found)
    files = job.ComparedTexts(base.data, *measured)
    if has_labels(base):
        files = job.label_texts(base, texts or output, measured.test)
    elif not base.data.train:
        files = job.embedded(base, texts or output)
    sets = job.read_sets(files)
    return Work(job.plan(found, files.data, seeds, output), sets)


def show_times(work: Work, best: int, output: Path, device: str) -> None:
    """Write the runs that are not measured yet and their time, a row for each variant.

    If all runs are measured, name the file of the results instead.
    """
    from attncli.jobs.compare_time import planned_times

    rows, total = [["variant", "runs", "parameters", "updates", "ms/update", "time"]], 0.0
    with Display(work.runs[0].config.train) as display:
        for found in planned_times(work.runs, work.sets, device=device, progress=display.progress):
            total += found.seconds
            rows.append(
                [
                    found.variant,
                    str(found.runs),
                    f"{found.parameters:,}",
                    f"{found.updates:,}" if found.updates else "no limit",
                    f"{1000 * found.per_update:,.1f}",
                    duration(found.seconds) if found.updates else "unknown",
                ]
            )
    if len(rows) == 1:
        name_results(work, output)
        return
    with open_output(None) as write:
        write(columns([*rows, ["total", *[""] * 4, duration(total)]]).encode())
    early = (
        "; --best and early stopping make it shorter" if best else "; early stopping shortens it"
    )
    console.say(f"training at most, without evaluations{early}")


def name_results(work: Work, output: Path) -> None:
    """Name the file of the results of a finished comparison."""
    results = output / "comparison.txt"
    where = results if results.exists() else "the same command without --dry-run writes them"
    console.say(f"finished before: {counted(len(work.runs), 'run')}; results: {where}")


def run(work: Work, best: int, output: Path, device: str) -> tuple[list[RunScores], int]:
    """Train the missing runs; return the rows, which are written after each run, and failures."""
    from attncli.jobs import compare as job

    rows: list[RunScores] = []
    failed = 0
    config = work.runs[0].config.train
    with stopping() as stop, Display(config) as display, memory_advice(config):
        try:
            for event in job.compare(
                work.runs,
                work.sets,
                best=best,
                device=device,
                progress=display.progress,
                stop_requested=stop,
            ):
                match event:
                    case RunScores():
                        display.close()
                        rows.append(event)
                        write_tables(output, rows)
                    case job.Begun():
                        display.close()
                        seed = event.run.config.train.seed
                        console.say(
                            f"{event.number} of {event.total}: {event.run.variant}, seed {seed}"
                        )
                    case job.Failed():
                        display.close()
                        failed += 1
                        console.warn(f"{event.run.variant} is left out: {event.error}")
                    case _:
                        display.take(event)
        except (Interrupted, KeyboardInterrupt):
            display.break_off()
            stopped(stop, rows, work, output)
        finally:
            draw(output, rows)
    return rows, failed


def stopped(stop: Stop, rows: list[RunScores], work: Work, output: Path) -> None:
    """Leave after an interruption."""
    console.say(
        f"stopped; finished in {output}: {counted(len(rows), 'run')}; "
        "the same command continues from here"
    )
    raise typer.Exit(stop.status or 130) from None


def write_tables(output: Path, rows: list[RunScores]) -> None:
    """Write the tables of the finished runs, one file for each format."""
    for suffix, write in WRITERS.items():
        write_text(output / f"comparison.{suffix}", write(rows))


def draw(output: Path, rows: list[RunScores]) -> None:
    """Draw the finished runs, if there are any."""
    for suffix in FORMATS if rows else ():
        draw_comparison(output / f"comparison{suffix}", rows)
