"""Runs of a comparison, and their scores: a row for each, stored in the run folder."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple

from attncli.jobs.compared import Sets, Trained, compared_source
from attncli.scoring.comparison import RunScores, from_record
from attncli.training.interfaces import Progress
from attncli.training.settings.config import RunConfig
from attncli.training.storage.counters import read_progress
from attncli.training.storage.folder import RunFolder
from models import load
from models.base.errors import ModelError
from models.base.files import write_text
from models.base.parsing import parse_json

NAME = "measured.json"


class Planned(NamedTuple):
    """One run of a comparison, before and after it is trained."""

    variant: str
    config: RunConfig
    folder: Path
    first: bool  # True for the first seed of the variant


def measured(folder: Path, sets: Sets) -> RunScores | None:
    """Return the stored row of the same sets; None if there is none."""
    path = folder / NAME
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
    write_text(run.folder / NAME, json.dumps(record, indent=2) + "\n")
    return row
