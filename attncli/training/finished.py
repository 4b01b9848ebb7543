"""Progress of a run without its state: read from the checkpoint's header, or from finished.json.

`attn runs prune` removes the checkpoint of a finished run and writes finished.json in its place:
updates, tokens, time, the reason of the end, and the final model. Nothing here imports torch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from attncli.training.events import AlreadyFinished, FinalModel
from attncli.training.folder import RunFolder
from models.errors import ModelError
from models.files import write_text
from models.parsing import parse_json


class RunProgress(NamedTuple):
    """How far a run is."""

    step: int  # updates done
    tokens: int  # target tokens seen
    seconds: float  # time spent training
    best: float | None = None  # best dev score; higher is better
    ended: str = ""  # reason why the updates ended; "" before
    kept: FinalModel | None = None  # final model, once it is written


def read_progress(folder: RunFolder) -> RunProgress | None:
    """Return the progress of a run; None before its first checkpoint.

    Raises ModelError if the checkpoint or finished.json is damaged.
    """
    path = folder.checkpoint if folder.checkpoint.exists() else folder.finished
    if not path.exists():
        return None
    try:
        values = _header(path) if path == folder.checkpoint else _record(path)
        found = RunProgress(**{name: values[name] for name in RunProgress._fields})
        kept = found.kept and FinalModel(*found.kept)
        return found._replace(step=int(found.step), kept=kept)
    except (OSError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{path} is damaged ({type(error).__name__}: {error})", "a file of `attn train`"
        ) from None


def finished_run(folder: RunFolder) -> AlreadyFinished | None:
    """Return the event of a finished run; None for one that has not finished."""
    progress = read_progress(folder)
    if progress is None or progress.kept is None:
        return None
    return AlreadyFinished(progress.step, progress.ended, progress.kept)


def write_finished(folder: RunFolder) -> None:
    """Write finished.json, which stands for the checkpoint of a finished run."""
    progress = read_progress(folder)
    if progress and progress.kept:
        record = {**progress._asdict(), "kept": list(progress.kept)}
        write_text(folder.finished, json.dumps(record, indent=2) + "\n")


def _record(path: Path) -> dict[str, Any]:
    values: dict[str, Any] = parse_json(path.read_text("utf-8"))
    return values


def _header(path: Path) -> dict[str, Any]:
    """Return the counters in a checkpoint's header; the weights are not read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            values: dict[str, Any] = parse_json(file.metadata()["counters"])
            return values
    except SafetensorError as error:
        raise ValueError(error) from None
