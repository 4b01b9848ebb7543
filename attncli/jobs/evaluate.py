"""Outputs of models for a test set: what `attn evaluate` does for every task."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attncli.data.lines import CHUNK_LINES
from attncli.jobs.loading import model_names
from attncli.options.settings import Options
from attncli.options.shared import save_outputs
from attncli.scoring.score import System
from attncli.task.runner import AnyRunner
from attncli.task.table import find_runner
from attncli.terminal.messages import ShowProgress, counted, one_line
from models.search.batching import windows
from models.text.normalise import nfc


class ModelOutputs(NamedTuple):
    """A model with its outputs for a test set."""

    system: System  # still without scores
    runner: AnyRunner
    results: list[Any]  # of the runner


def evaluated(
    task: str,
    folders: Sequence[Path],
    items: Sequence[Any],
    options: Options,
    *,
    save: Path | None = None,
    names: Sequence[str] = (),
    watch: Callable[[Any], None] = lambda result: None,
) -> Iterator[ModelOutputs]:
    """Compute a test set with each model; save its outputs before the next model is opened.

    items: inputs of the runner. save, names: file of the outputs, each after a name and a tab if
    there are names. watch: called with each result as soon as it is there.
    """
    for name, folder in zip(model_names(folders), folders, strict=True):
        runner, start = find_runner(task).open(folder, options), time.perf_counter()
        label = f"{runner.doing}, {name}"
        with options.messages.progress(label, total=len(items)) as advance:
            results = _results(runner, items, watch, advance)
        seconds = time.perf_counter() - start
        outputs = [nfc(one_line(runner.text(each) or "")) for each in results]  # as references
        rows = map("\t".join, zip(names, outputs, strict=True)) if names else outputs
        save_outputs(save, name, rows)
        read = getattr(runner.model, "read_mode", "")
        yield ModelOutputs(System(name, outputs, seconds, read=read), runner, results)


def _results(
    runner: AnyRunner,
    items: Sequence[Any],
    watch: Callable[[Any], None],
    advance: ShowProgress,
) -> list[Any]:
    """Return the result of each input; show how many are done."""
    results, start = list[Any](), time.perf_counter()

    def show(done: int, total: int = 0) -> None:
        count = len(results) + done
        rate = count / (time.perf_counter() - start)
        advance(count, f"{counted(count, runner.unit)}, {rate:,.1f}/s")

    runner.on_batch = show
    for found in runner.run(windows(items, CHUNK_LINES)):
        results += found
        for each in found:
            watch(each)
        show(0)
    return results
