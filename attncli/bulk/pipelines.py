"""Functions for other pipelines: a class for Ray Data, a function for Spark.

    dataset.map_batches(BatchMapper, fn_constructor_kwargs={"task": "translate", ...}, ...)
    frame.mapInPandas(frame_mapper("translate", ...), schema)

Both add two columns to a table: the results (named by `into`) and `INTO_error`, which is empty for
a record with a result. Neither imports Ray, Spark or pandas.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import TASKS, BulkTask, open_task
from attncli.bulk.work import all_results
from attncli.terminal.escapes import one_cell
from models.base.errors import unknown_name
from models.catalogue.installed import chosen_model, find_model


class BatchMapper:
    """Opened models that add a column of results to batches of a table.

    A batch is anything with columns by name that can be copied: a dict of arrays or lists, or a
    pandas DataFrame. The models are opened once, when the object is made.
    """

    def __init__(
        self,
        task: str,
        model: str | Path | None = None,
        *,
        column: str = "text",
        target: str = "",
        into: str = "",
        device: str = "auto",
        threads: int = 1,
        **settings: Any,
    ) -> None:
        """Open the models of a task: translate, classify, caption or align.

        model: name or folder; None for the shipped one. column: texts; for captions, paths or bytes
        of images; for align, sources, whose translations are in the column `target`. into: column
        of the results. settings: those of the task, such as `to` or `search`; see
        attncli.bulk.tasks. Raises ModelError for a model that does not suit the task.
        """
        if task not in TASKS:
            raise unknown_name("task", task, TASKS)
        folder = chosen_model(model, "translate" if task == "align" else task)
        job = BulkJob(task, (str(folder),), settings, device=device, threads=threads)
        self.task: BulkTask = open_task(job)
        self.column, self.target, self.into = column, target, into or self.task.into

    def __call__(self, batch: Any) -> Any:
        """Return the batch with the results of its records and their errors."""
        results = list(all_results(self.task, self._records(batch)))
        kind = type(batch[self.column])
        added = batch.copy()
        added[self.into] = _column([result.value or "" for result in results], kind)
        added[f"{self.into}_error"] = _column([result.error for result in results], kind)
        return added

    def _records(self, batch: Any) -> Sequence[Any]:
        values = list(batch[self.column])
        if self.target:
            pairs = zip(values, batch[self.target], strict=True)
            values = [f"{one_cell(source)}\t{one_cell(target)}" for source, target in pairs]
        return [self.task.record(value, number) for number, value in enumerate(values, 1)]


def _column(texts: list[str], kind: type) -> Any:
    """Return a column of texts as an array if the other columns are arrays, else as a list."""
    import numpy

    return numpy.array(texts, dtype=object) if issubclass(kind, numpy.ndarray) else texts


def frame_mapper(
    task: str, model: str | Path | None = None, **options: Any
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function for Spark's `mapInPandas`; see `BatchMapper` for the arguments.

    A Python worker of Spark opens the models once and keeps them.
    """
    place = None if model is None else str(find_model(model).resolve())
    return partial(_mapped, json.dumps({"task": task, "model": place, **options}))


def _mapped(arguments: str, frames: Iterable[Any]) -> Iterator[Any]:
    mapper = _mapper(arguments)
    return map(mapper, frames)


@cache
def _mapper(arguments: str) -> BatchMapper:
    return BatchMapper(**json.loads(arguments))
