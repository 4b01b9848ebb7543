"""JSON lines: an object on each line, one field of which is the text. Plain or compressed.

The output has the same objects in the same order, with the result in a further field: translation,
label or links. An object without a result gets a field `error`. A line that is not a JSON object is
copied unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from attncli.bulk.inputs import ShardReading
from attncli.bulk.inputs.lines import Lines, lines_of
from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import RecordNote, Shard
from attncli.bulk.tasks import BulkTask, RecordResult
from attncli.data.lines import Line
from attncli.render.json import as_json_line
from attncli.terminal.escapes import one_cell


class JsonObjects(Lines):
    """JSON lines: a record is an object."""

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the texts of a shard; their results are added to the objects."""
        lines = lines_of(shard)
        objects: dict[int, dict[str, Any]] = {}
        records, faults = [], []
        for line in lines:
            try:
                found = _object(line)
                if found is not None:
                    text = "\t".join(_text(found, name, job.fields) for name in job.fields)
                    records.append(task.record(text, line.number))
                    objects[line.number] = found
            except ValueError as error:
                faults.append(RecordNote(line.number, "error", f"line {line.number}: {error}"))

        def write(results: Sequence[RecordResult]) -> bytes:
            texts = {line.number: line.text for line in lines}
            for number, result in zip(objects, results, strict=True):
                error = {"error": result.error} if result.value is None else {}
                texts[number] = as_json_line({**objects[number], task.into: result.value, **error})
            rows = (f"{texts[line.number]}{line.ending}" for line in lines)
            return "".join(rows).encode("utf-8", "replace")

        return ShardReading(records, list(objects), write, tuple(faults))


def _object(line: Line) -> dict[str, Any] | None:
    """Return the object of a line, None for an empty line; ValueError for anything else."""
    if line.fault:
        raise ValueError(line.fault)
    if not line.text.strip():
        return None
    try:
        found = json.loads(line.text)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _text(found: dict[str, Any], path: str, fields: Sequence[str]) -> str:
    """Return the text of a field; a dot leads into an inner object: meta.title."""
    value: Any = found
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, str):
        raise ValueError(f"no text in the field {path}")
    return one_cell(value) if len(fields) > 1 else value
