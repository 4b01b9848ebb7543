"""Runs of a comparison: planned and trained; their tables and plots written. Imports torch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from attncli.commands.train.display import Display
from attncli.commands.train.run import Stop, stoppable
from attncli.data.streams import write_stdout
from attncli.jobs import compare as job
from attncli.jobs.compared import Sets
from attncli.render.columns import columns
from attncli.render.comparison import WRITERS, draw_comparison
from attncli.render.plots import FORMATS
from attncli.scoring.comparison import RunScores
from attncli.terminal import console
from attncli.terminal.messages import counted
from attncli.training.events import RunEvent
from models.base.files import write_text


def show_remaining(runs: list[job.Planned], sets: Sets, best: int, output: Path) -> None:
    """Write the number of runs of each variant that are not measured yet.

    If all runs are measured, name the file of the results instead.
    """
    left, count = job.missing(runs, sets, best), job.planned_count(runs, best)
    if not left:
        results = output / "comparison.txt"
        where = results if results.exists() else "the same command without --dry-run writes them"
        return console.say(f"finished before: {counted(count, 'run')}; results: {where}")
    counts = Counter(run.variant for run in left)
    rows = [(variant, str(number)) for variant, number in counts.items()]
    write_stdout(columns([("variant", "runs"), *rows, ("total", str(len(left)))]))
    further = count - sum(run.first for run in runs)
    if best and left[0].first and further:
        variants = counted(best, "variant")
        console.say(f"then {counted(further, 'run')} of further seeds, of the best {variants}")


def run(
    runs: list[job.Planned], sets: Sets, best: int, output: Path, device: str
) -> tuple[list[RunScores], int]:
    """Train the missing runs; return the rows, which are written after each run, and failures."""
    rows: list[RunScores] = []
    failed = 0
    with stoppable(runs[0].config.train, output) as (stop, display):
        try:
            for event in job.compare(
                runs,
                sets,
                best=best,
                device=device,
                progress=display.progress,
                stop_requested=stop,
            ):
                take(event, display, stop)
                failed += isinstance(event, job.Failed)
                if isinstance(event, RunScores):
                    rows.append(event)
                    for suffix, write in WRITERS.items():
                        write_text(output / f"comparison.{suffix}", write(rows))
        finally:
            for suffix in FORMATS if rows else ():
                draw_comparison(output / f"comparison{suffix}", rows)
    return rows, failed


def take(
    event: RunEvent | job.Begun | RunScores | job.Failed, display: Display, stop: Stop
) -> None:
    """Show an event of a comparison."""
    if not isinstance(event, (RunScores, job.Begun, job.Failed)):
        display.take(event)
        return
    display.close()
    if isinstance(event, job.Begun):
        stop.is_polled = False  # Ctrl-C ends its preparation at once
        run, seed = event.run.variant, event.run.config.train.seed
        console.say(f"{event.number} of {event.total}: {run}, seed {seed}")
    elif isinstance(event, job.Failed):
        console.warn(f"{event.run.variant} is left out: {event.error}")
