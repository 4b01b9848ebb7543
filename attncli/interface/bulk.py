"""Tasks in the pipelines of other programs, such as Ray Data and pandas:

    dataset.map_batches(BatchMapper, fn_constructor_kwargs={"words": ["translate", ...]}, ...)

It adds two columns to a table: the results (named by `into`) and `INTO_error`, which is empty for a
record with a result. It imports neither Ray nor pandas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attncli.jobs.bulk_job import BulkTask, read_job
from attncli.terminal.messages import one_cell


class BatchMapper:
    """Opened models that add a column of results to batches of a table.

    A batch is anything with columns by name that can be copied: a dict of arrays or lists, or a
    pandas DataFrame. The models are opened once, when the object is made.
    """

    def __init__(
        self, words: Sequence[str], *, column: str = "text", target: str = "", into: str = ""
    ) -> None:
        """Open the models of a task.

        words: the task and the options of its command, as after `--` in `attn bulk`: ["translate",
        "-m", "runs/en-de"]. column: texts; for captions, paths or bytes of images; for align,
        sources, whose translations are in the column `target`. into: column of the results. Raises
        ModelError for a model or an option that does not suit the task, and typer.BadParameter for
        a value that an option does not allow.
        """
        self.task = BulkTask(read_job(words))
        self.column, self.target = column, target
        self.into = into or self.task.runner.into

    def __call__(self, batch: Any) -> Any:
        """Return the batch with the results of its records and their errors."""
        results = list(self.task.results(self._records(batch)))
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
        return [self.task.runner.item(number, value) for number, value in enumerate(values, 1)]


def _column(texts: list[str], kind: type) -> Any:
    """Return a column of texts as an array if the other columns are arrays, else as a list."""
    import numpy

    return numpy.array(texts, dtype=object) if issubclass(kind, numpy.ndarray) else texts
