"""Progress of a run without its state: read from the checkpoint's header, or from finished.json.

`attn runs prune` removes the checkpoint of a finished run and writes finished.json in its place:
updates, tokens, time, the reason of the end, and the final model. Nothing here imports torch.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from attncli.training.events import AlreadyFinished, FinalModel
from attncli.training.storage.checkpoint_choice import first_intact
from attncli.training.storage.folder import RunFolder
from attncli.training.storage.tensor_file import read_metadata
from models.base.errors import DamagedError
from models.base.files import write_text
from models.base.parsing import parse_json


class RunProgress(NamedTuple):
    """Progress of a run."""

    step: int  # updates done
    tokens: int  # target tokens seen
    seconds: float  # time spent training
    best: float | None = None  # best dev score; higher is better
    ended: str = ""  # reason why the updates ended; "" before
    kept: FinalModel | None = None  # final model, once it is written


def read_progress(folder: RunFolder) -> RunProgress | None:
    """Return the progress of a run; None before its first checkpoint.

    Raises ModelError if finished.json or all checkpoints are damaged.
    """
    if not folder.checkpoint.exists() and folder.finished.exists():
        return _progress(folder.finished, _record)
    return first_intact(folder, lambda path: _progress(path, _header))[0]


def _progress(path: Path, read: Callable[[Path], dict[str, Any]]) -> RunProgress:
    try:
        values = read(path)
        found = RunProgress(**{name: values[name] for name in RunProgress._fields})
        kept = found.kept and FinalModel(*found.kept)
        return found._replace(step=int(found.step), kept=kept)
    except (OSError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise DamagedError(
            f"{path} is damaged ({type(error).__name__}: {error})", "a file of `attn train`"
        ) from None


def finished_run(folder: RunFolder) -> AlreadyFinished | None:
    """Return the event of a finished run; None for one that has not finished."""
    progress = read_progress(folder)
    if progress is None or progress.kept is None:
        return None
    return AlreadyFinished(progress.step, progress.ended, progress.kept)


def write_finished(folder: RunFolder) -> None:
    """Write finished.json, which replaces the checkpoint of a finished run."""
    progress = read_progress(folder)
    if progress and progress.kept:
        record = {**progress._asdict(), "kept": list(progress.kept)}
        write_text(folder.finished, json.dumps(record, indent=2) + "\n")


def _record(path: Path) -> dict[str, Any]:
    values: dict[str, Any] = parse_json(path.read_text("utf-8"))
    return values


def _header(path: Path) -> dict[str, Any]:
    """Return the counters in a checkpoint's header; the weights are not read."""
    values: dict[str, Any] = parse_json(read_metadata(path)["counters"])
    return values
