"""``attn runs`` and ``attn runs prune``: list run folders; free what finished runs do not need."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from attncli.catalogue import _runs as job
from attncli.catalogue._runs import RunSummary
from attncli.data.streams import as_json, write_stdout
from attncli.options.shared import Json
from attncli.render.rows import columns, size
from attncli.terminal import console
from models.core.errors import ModelError
from models.storage.installed import find_model

HEAD = ["run", "state", "data", "languages", "score", "updates", "date", "size"]
MAX_DATA_LETTERS = 30  # characters of the names of data files in the table

Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FOLDER...", help="Folders of runs, or folders that hold runs."),
]
Runs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="RUN...", help="Runs: names in ./runs or folders. Default: all in ./runs."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")]


def list_runs(paths: Paths = None, *, json: Json = False) -> None:
    """List training runs: data, score, date, size and state.

    The runs in ./runs or in the given folders, and in four levels of folders below, newest first.
    States: training (a process trains there now), finished, stopped (the same `attn train`
    continues), waiting (a run of `attn models compare` that has not begun), and damaged. The score
    is that of the stored model on the dev set. Use the name in the first column with -m.

    Example:
      attn runs
      attn runs runs/compare --json
    """
    found = job.list_runs(paths or [])
    if json:
        write_stdout(as_json([_record(run) for run in found]))
    elif found:
        write_stdout(columns([HEAD, *map(_row, found)], left=len(HEAD) - 3))
        if freeable := sum(run.freeable for run in found):
            console.say(f"`attn runs prune` frees {size(freeable)} of finished runs")
    else:
        console.say("no runs in ./runs; `attn train` makes one")


def prune(runs: Runs = None, *, yes: Yes = False, dry_run: DryRun = False) -> None:
    """Remove checkpoints and caches of finished runs.

    These are checkpoint, snapshots, tokenised data and leftovers of killed processes. The model,
    its card, settings, log, curves and data files remain, and the run stays finished. Runs in
    progress, stopped runs and models shipped with attn are never changed. The files to remove are
    shown first; they are removed after a confirmation or with --yes. A pruned run can no longer
    continue with more updates; `attn train --start-from` starts a new one from its model. Folders
    that contain the home folder are refused.

    Example:
      attn runs prune --dry-run
      attn runs prune demo --yes
    """
    folders = [run if run.is_dir() else find_model(run) for run in runs or []]
    for folder in folders:
        job.check_prunable(folder)
    found = job.list_runs(folders)
    chosen = [run for run in found if run.state == "finished" and run.freeable]
    for run in found if runs else []:
        if run.state != "finished":
            console.warn(f"{run.path} is kept: {run.state}")
    if not chosen:
        console.say("nothing to remove: no finished run has checkpoints or caches")
        return
    rows = [[str(run.path), size(run.freeable), f"of {size(run.bytes)}"] for run in chosen]
    write_stdout(columns([*rows, ["total", size(sum(run.freeable for run in chosen)), ""]]))
    if dry_run or not (yes or _confirmed()):
        return
    freed = sum(map(job.prune, [run.path for run in chosen]))
    console.say(f"freed {size(freed)}")


def _confirmed() -> bool:
    """Ask on the terminal; raise ModelError where nobody can answer."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise ModelError("no terminal to confirm on", "a confirmation", "give --yes to remove")
    sys.stdout.flush()
    return typer.confirm("Remove these?", err=True)


def _row(run: RunSummary) -> list[str]:
    data = run.data if len(run.data) <= MAX_DATA_LETTERS else f"{run.data[: MAX_DATA_LETTERS - 1]}…"
    date = f"{run.changed:%Y-%m-%d %H:%M}"
    step = f"{run.step:,}"
    return [str(run.path), run.state, data, run.languages, run.score, step, date, size(run.bytes)]


def _record(run: RunSummary) -> dict[str, object]:
    return {**run._asdict(), "path": str(run.path), "changed": run.changed.isoformat()}
