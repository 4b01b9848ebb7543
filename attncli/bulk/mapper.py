"""Tasks in the pipelines of other programs, such as Ray Data and pandas:

    dataset.map_batches(BatchMapper, fn_constructor_kwargs={"words": ["translate", ...]}, ...)

It adds two columns to a table: the results (named by `into`) and `INTO_error`, which is empty for a
record with a result. It imports neither Ray nor pandas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attncli.bulk._job import read_job, results_of
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
        self.runner = read_job(words).open()
        self.column, self.target, self.into = column, target, into or self.runner.into

    def __call__(self, batch: Any) -> Any:
        """Return the batch with the results of its records and their errors."""
        values, runner = list(batch[self.column]), self.runner
        if self.target:
            pairs = zip(values, batch[self.target], strict=True)
            values = [f"{one_cell(source)}\t{one_cell(target)}" for source, target in pairs]
        records = [runner.item(number, value) for number, value in enumerate(values, 1)]
        results = [*results_of(runner, records)]
        texts = [runner.text(one) for one in results]
        errors = [
            "".join(runner.notes(one)) if text is None else ""
            for one, text in zip(results, texts, strict=True)
        ]
        added, kind = batch.copy(), type(batch[self.column])
        added[self.into] = _column([text or "" for text in texts], kind)
        added[f"{self.into}_error"] = _column(errors, kind)
        return added


def _column(texts: list[str], kind: type) -> Any:
    """Return a column of texts as an array if the other columns are arrays, else as a list."""
    import numpy

    return numpy.array(texts, dtype=object) if issubclass(kind, numpy.ndarray) else texts
