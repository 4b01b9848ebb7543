"""A job of `attn bulk` on the command line: its start, progress and report."""

from __future__ import annotations

from pathlib import Path

import typer

from attncli.bulk.joining import ERRORS, WARNINGS
from attncli.bulk.parts import state_folder
from attncli.bulk.run import BulkPlan, BulkProgress, BulkSummary, run_bulk
from attncli.bulk.tasks import bulk_task
from attncli.terminal import console
from attncli.terminal.plurals import counted, duration
from models.base.errors import InputError


def run(plan: BulkPlan) -> None:
    """Run a job, show its progress and report its end."""
    try:
        summary = _shown(plan)
    except KeyboardInterrupt:
        console.warn("interrupted; finished shards are kept, the same command continues")
        raise
    _report(summary)
    if summary.counts.errors:
        raise typer.Exit(1)


def check_own(out: Path) -> None:
    """Raise InputError for an output file that no bulk job wrote: OUT may have been forgotten."""
    if out.is_file() and not state_folder(out).exists():
        raise InputError(
            f"{out} exists, and no earlier `attn bulk` wrote it",
            "a new name for the output, after all inputs",
            "remove it if it is to be replaced",
        )


def _shown(plan: BulkPlan) -> BulkSummary:
    """Run a job and show its progress."""
    with console.progress(bulk_task(plan.job.task).doing, total=1) as advance:
        for event in run_bulk(plan):
            if isinstance(event, BulkSummary):
                return event
            advance(event.records / max(1, event.all_records), _note(event))
    raise AssertionError("a job without a summary")


def _note(event: BulkProgress) -> str:
    """Return the progress over all shards, the rate and the time left."""
    shards = f"{event.shards:,} of {counted(event.all_shards, 'shard')}"
    if not event.new_records:
        return shards
    rate = event.new_records / max(event.seconds, 1e-9)
    left = duration((event.all_records - event.records) / rate)
    return f"{shards}, {rate:,.{0 if rate >= 10 else 1}f} records/s, {left} left"


def _report(summary: BulkSummary) -> None:
    records, errors, warnings = summary.counts
    done = "finished before, unchanged" if summary.before else "finished"
    console.say(f"{done}: {counted(records, 'record')}")
    if warnings:
        console.say(f"{counted(warnings, 'warning')}: {summary.state / WARNINGS}")
    if errors:
        console.warn(f"{counted(errors, 'record')} without a result: {summary.state / ERRORS}")
