"""List run folders, and remove what finished runs no longer need. Imports no torch."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from attncli.train.folder import (
    Counters,
    RunFolder,
    finished_run,
    read_config,
    read_progress,
    write_finished,
)
from attncli.training.dev import described
from attncli.training.sources import training_source
from models.core.errors import ModelError, NotFoundError
from models.core.files import LOCK, is_leftover, locked, try_lock, write_errors
from models.storage.archive import read_about
from models.storage.installed import BOX, RUNS, is_bundle
from models.storage.settings import read_settings

RunState = Literal["training", "finished", "stopped", "waiting", "damaged"]
DEPTH = 4  # levels of folders below ./runs that are searched: runs/compare/dot/seed-1 has 3


class RunSummary(NamedTuple):
    """A run folder in a list."""

    path: Path
    state: RunState
    data: str  # names of the training files
    languages: str  # of a multilingual model
    score: str
    step: int  # updates done
    changed: datetime  # of the newest file
    bytes: int  # of all files
    freeable: int  # bytes that `prune` would remove


def list_runs(paths: Sequence[Path] = ()) -> list[RunSummary]:
    """Return the runs in some folders and at most DEPTH levels below, newest first.

    Default: those in ./runs. Raises NotFoundError for a folder that is missing or holds no run.
    """
    found: dict[Path, Path] = {}
    for path in paths or [RUNS]:
        below = run_folders(path)
        if paths and not below:
            raise NotFoundError(f"no run in {path}", "the folder of a run, or one that holds runs")
        found |= {folder.resolve(): folder for folder in below}
    summaries = [summary(folder) for folder in found.values()]
    return sorted(summaries, key=lambda run: (-run.changed.timestamp(), run.path))


def summary(path: Path) -> RunSummary:
    """Return the facts about one run folder; its state is damaged if they cannot be read."""
    folder, files = RunFolder(path), list(_files(path))
    freeable = 0
    state: RunState
    try:
        config = read_config(folder)
        if _is_locked(path):
            state = "training"
        else:
            state = "finished" if finished_run(folder) else "stopped"
            state = state if folder.has_begun or folder.log.exists() else "waiting"
        source, progress = training_source(config.model.family), read_progress(folder)
        names = dict.fromkeys(Path(path).name for path in config.data.files)
        data = ", ".join(names) or source.embedded
        languages = " ".join(config.tokenizer.languages)
        score = _score(folder, progress, config.train.metric)
        step = progress.step if progress else 0
        freeable = _size(removable(folder)) if state == "finished" else 0
    except ModelError as error:
        state, data, languages, score, step = "damaged", "", "", error.found, 0
    newest = max((file.stat().st_mtime for file in files), default=path.stat().st_mtime)
    return RunSummary(
        path=path,
        state=state,
        data=data,
        languages=languages,
        score=score,
        step=step,
        changed=datetime.fromtimestamp(newest).astimezone(),
        bytes=_size(files),
        freeable=freeable,
    )


def run_folders(path: Path) -> list[Path]:
    """Return the run folders at a folder and at most DEPTH levels below, sorted.

    Links, hidden folders, unreadable folders and the folders inside a run are not searched.
    """
    found, top = [], len(path.parts)
    for place, names, _ in os.walk(path):
        folder = Path(place)
        if is_run(folder):
            found.append(folder)
        if is_run(folder) or len(folder.parts) == top + DEPTH:
            names.clear()
        names[:] = [name for name in names if not name.startswith(".")]
    return sorted(found)


def is_run(path: Path) -> bool:
    """Return True if a folder contains a training run; False for an unreadable folder."""
    folder = RunFolder(path)
    return os.path.isfile(folder.config) and os.path.isfile(folder.inputs)


def removable(folder: RunFolder) -> list[Path]:
    """Return what a finished run does not need: checkpoints, snapshots, tokenised data, leftovers.

    The model, its card, settings, log, curves and data files remain.
    """
    names = [path.name for path in (folder.checkpoint, folder.snapshots, folder.data)]
    return [path for path in folder.path.iterdir() if path.name in names or is_leftover(path)]


def check_prunable(path: Path) -> None:
    """Raise ModelError for the home folder, or one that contains it."""
    if Path(os.path.expanduser("~")).resolve().is_relative_to(path.resolve()):
        raise ModelError(f"{path} contains the home folder", "a run, or a folder of runs")


def prune(path: Path) -> int:
    """Remove what a finished run no longer needs; return the number of bytes freed.

    The folder remains a finished run: `attn train` with the same settings reports it as finished.
    Raises ModelError for a run that has not finished, that has no model, or that is in progress.
    """
    folder = RunFolder(path)
    if path.resolve().is_relative_to(BOX.resolve()):
        raise ModelError(f"{path} is shipped with attn", "the folder of a run")
    with locked(path):
        if not (finished_run(folder) and is_bundle(path)):
            raise ModelError(
                f"{path} has not finished", "a finished run", "continue with the same `attn train`"
            )
        paths = removable(folder)
        freed = _size(paths)
        write_finished(folder)
        with write_errors(path):
            for each in paths:
                if each.is_dir() and not each.is_symlink():
                    shutil.rmtree(each)
                else:
                    each.unlink(missing_ok=True)
    return freed


def _score(folder: RunFolder, progress: Counters | None, chosen: str) -> str:
    """Return the dev score of a run; "" if there is none. chosen: train.metric."""
    score = ""
    if progress:
        value = progress.kept.score if progress.kept else progress.best
        metric = progress.kept.metric if progress.kept else chosen
        score = "" if value is None else described(value, "bleu" if metric == "auto" else metric)
    if is_bundle(folder.path):
        score = read_about(read_settings(folder.path)).score or score
    return score


def _files(path: Path) -> Iterator[Path]:
    """Yield the files in a folder and below; a file is one itself."""
    if path.is_file() or path.is_symlink():
        yield path
        return
    for place, _, names in os.walk(path):
        yield from (Path(place, name) for name in names)


def _size(paths: Sequence[Path]) -> int:
    """Return the bytes of files and folders; links are not followed."""
    return sum(file.lstat().st_size for path in paths for file in _files(path))


def _is_locked(path: Path) -> bool:
    try:
        with (path / LOCK).open("rb") as file:
            return not try_lock(file.fileno())
    except OSError:  # never locked, or not readable
        return False
