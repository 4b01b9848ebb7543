"""List run folders, and remove what finished runs no longer need. Imports no torch."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from attncli.training.config import RunConfig
from attncli.training.finished import finished_run, read_progress, write_finished
from attncli.training.folder import RunFolder, read_config
from attncli.training.lock import NAME as LOCK
from attncli.training.lock import locked
from attncli.training.metrics import described
from attncli.training.sources import training_source
from models.bundle.about import read_about
from models.bundle.settings import read_settings
from models.errors import ModelError, NotFoundError
from models.files import is_leftover, try_lock, write_errors
from models.installed import BOX, RUNS, is_bundle

RunState = Literal["training", "finished", "stopped", "damaged"]
DEPTH = 4  # folders below ./runs that are searched: runs/compare/dot/seed-1
PACKED = (".gz", ".xz", ".zst")


class RunSummary(NamedTuple):
    """A run folder in a list."""

    path: Path
    state: RunState
    data: str  # names of the training files
    languages: str  # en-de; empty if unknown
    score: str
    step: int  # updates done
    changed: datetime  # of the newest file
    bytes: int  # of all files
    freeable: int  # bytes that `prune` would remove


def list_runs(paths: Sequence[Path] = ()) -> list[RunSummary]:
    """Return the runs in some folders and below, newest first. Default: those in ./runs.

    Raises NotFoundError for a folder that is missing or holds no run.
    """
    found: dict[Path, Path] = {}
    for path in paths or [RUNS]:
        below = list(_run_folders(path, DEPTH))
        if paths and not below:
            raise NotFoundError(f"no run in {path}", "the folder of a run, or one that holds runs")
        found |= {folder.resolve(): folder for folder in below}
    summaries = [summary(folder) for folder in found.values()]
    return sorted(summaries, key=lambda run: (-run.changed.timestamp(), run.path))


def summary(path: Path) -> RunSummary:
    """Return the facts about one run folder; its state is damaged if they cannot be read."""
    folder, files = RunFolder(path), list(_files(path))
    freeable = 0
    try:
        config, state = read_config(folder), state_of(folder)
        data, languages, score, step = _about(folder, config)
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


def is_run(path: Path) -> bool:
    """Return True if a folder contains a training run."""
    folder = RunFolder(path)
    return folder.config.is_file() and folder.inputs.is_file()


def state_of(folder: RunFolder) -> RunState:
    """Return training if a process trains there, finished if the run has ended, else stopped."""
    if _is_locked(folder.path):
        return "training"
    return "finished" if finished_run(folder) else "stopped"


def removable(folder: RunFolder) -> list[Path]:
    """Return what a finished run does not need: checkpoints, snapshots, tokenised data, leftovers.

    The model, its card, settings, log, curves and data files remain.
    """
    made = [folder.checkpoint, folder.previous, folder.snapshots, folder.data]
    leftovers = filter(is_leftover, folder.path.iterdir())
    return [*(path for path in made if path.exists()), *leftovers]


def prune(path: Path) -> int:
    """Remove what a finished run no longer needs; return the number of bytes freed.

    The folder remains a finished run: `attn train` with the same settings reports it as finished.
    Raises ModelError for a run that has not finished, that has no model, or that is in progress.
    """
    folder = RunFolder(path)
    _check_place(path)
    with locked(path):
        if not (finished_run(folder) and is_bundle(path)):
            raise ModelError(
                f"{path} has not finished", "a finished run", "go on with the same `attn train`"
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


def _check_place(path: Path) -> None:
    if path.resolve().is_relative_to(BOX.resolve()):
        raise ModelError(f"{path} is shipped with attn", "the folder of a run")


def _run_folders(path: Path, depth: int) -> Iterator[Path]:
    """Yield the run folders at and below a folder; nothing below a run is searched."""
    if is_run(path):
        yield path
        return
    with contextlib.suppress(OSError):  # missing or unreadable
        for child in sorted(path.iterdir()) if depth else []:
            if child.is_dir() and not child.is_symlink() and not child.name.startswith("."):
                yield from _run_folders(child, depth - 1)


def _about(folder: RunFolder, config: RunConfig) -> tuple[str, str, str, int]:
    """Return data, languages, score and updates of a run."""
    source = training_source(config.model.family)
    names = dict.fromkeys(Path(path).name for path in source.files(config.data))
    progress = read_progress(folder)
    score, step = "", 0
    if progress:
        step = progress.step
        value = progress.kept.score if progress.kept else progress.best
        metric = (progress.kept.metric if progress.kept else "") or config.train.metric
        score = "" if value is None else described(value, "bleu" if metric == "auto" else metric)
    if is_bundle(folder.path):
        score = read_about(read_settings(folder.path)).score or score
    return ", ".join(names) or source.embedded, _languages(config), score, step


def _languages(config: RunConfig) -> str:
    """Return the languages of a run, from the settings or else the suffixes of its files."""
    if config.tokenizer.languages:
        return " ".join(config.tokenizer.languages)
    data = config.data
    if data.images or data.captions or training_source(config.model.family).demo_name == "scenes":
        return ""
    if not data.train:
        return f"{data.demo_source}-{data.demo_target}"
    suffixes = [_suffix(Path(path)) for path in data.train]
    return "-".join(suffixes) if len(suffixes) == 2 and len(set(suffixes)) == 2 else ""


def _suffix(path: Path) -> str:
    path = path.with_suffix("") if path.suffix in PACKED else path
    return path.suffix.removeprefix(".")


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
