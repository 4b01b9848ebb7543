"""Kinds of input of `attn bulk`: how an input is cut into shards, and how a shard is read.

- lines: text files, plain or compressed (gz, xz, zst).
- rows: tables. Each shard starts with the first line, which can be a header.
- jsonl: an object on each line, one field of which is the text. The output has the same objects in
  the same order, with the result in a further field: translation, label or links. An object without
  a result gets a field `error`. A line that is not a JSON object is copied unchanged.
- images: files, folders and TAR files. Every machine reads them by their paths.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from attncli.bulk.job import BulkJob, RecordNote, Shard
from attncli.bulk.tasks import BulkTask, RecordResult
from attncli.data.compression import decompressed
from attncli.data.images.index import FileRange
from attncli.data.images.named import ImageFile, named_images
from attncli.data.json import as_json_line
from attncli.data.lines import Line, decode
from attncli.data.streams import open_input
from attncli.data.text.rows import as_rows
from attncli.data.text.text_files import byte_lines
from attncli.terminal.text import one_cell


def rows_of(results: Sequence[RecordResult]) -> bytes:
    """Return the rows of results in the output format of their task."""
    return b"".join(result.row for result in results)


class ShardReading(NamedTuple):
    """The records of a shard, and how their results are written."""

    records: Sequence[Any]  # as the task takes them
    numbers: Sequence[int]  # of the records in the input, from 1
    write: Callable[[Sequence[RecordResult]], bytes] = rows_of  # the body of the part
    faults: tuple[RecordNote, ...] = ()  # records that could not be read


class Lines:
    """Text files: a record is a line."""

    def cut(self, paths: Sequence[Path], size: int) -> Iterator[tuple[int, bytes]]:
        """Yield number of records (at most `size`) and content of each shard of an input."""
        [path] = paths
        with open_input(path) as stream:
            lines = byte_lines(decompressed(stream, path))
            while group := list(islice(lines, size)):
                yield len(group), b"".join(group)

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the records of a shard, as the task takes them."""
        lines = lines_of(shard)
        return ShardReading(lines, [line.number for line in lines])


class TableRows(Lines):
    """Tables: a record is a row."""

    def cut(self, paths: Sequence[Path], size: int) -> Iterator[tuple[int, bytes]]:
        """Yield the first line and further lines of a table, `size` of these at a time."""
        first = b""
        for count, content in super().cut(paths, size):
            first = first or content.partition(b"\n")[0] + b"\n"
            yield count, first + content

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the rows of a shard in the order of the model's inputs, which are `job.fields`."""
        first, *lines = lines_of(shard._replace(first=shard.first - 1))
        _, *rows = next(as_rows([[first._replace(number=1), *lines]], job.fields))
        return ShardReading(rows, [row.number for row in rows])


class JsonObjects(Lines):
    """JSON lines: a record is an object."""

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the texts of a shard; their results are added to the objects."""
        lines = lines_of(shard)
        objects: dict[int, dict[str, Any]] = {}
        records, faults = [], []
        for line in lines:
            try:
                if line.fault or line.text.strip():
                    found = _object(line)
                    texts = [_text(found, field) for field in job.fields]
                    text = "\t".join(map(one_cell, texts)) if len(texts) > 1 else texts[0]
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


class Images:
    """Images: a record is an image, and a shard names them."""

    def cut(self, paths: Sequence[Path], size: int) -> Iterator[tuple[int, bytes]]:
        """Yield the names and places of the images, `size` at a time."""
        files = chain.from_iterable(named_images(list(map(str, paths)), recursive=True))
        while group := list(islice(files, size)):
            yield len(group), "".join(map(_image_line, group)).encode("utf-8", "surrogateescape")

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the images of a shard."""
        lines = shard.content.decode("utf-8", "surrogateescape").splitlines()
        numbers = range(shard.first, shard.first + shard.size)
        return ShardReading(list(map(_image, lines)), numbers)


INPUTS: dict[str, Lines | Images] = {
    "lines": Lines(),
    "rows": TableRows(),
    "jsonl": JsonObjects(),
    "images": Images(),
}


def lines_of(shard: Shard) -> list[Line]:
    """Return the lines of a shard, with their numbers in the input."""
    lines = byte_lines(iter([shard.content]))
    return [decode(line, number) for number, line in enumerate(lines, shard.first)]


def _object(line: Line) -> dict[str, Any]:
    """Return the object of a line; ValueError for anything else."""
    if line.fault:
        raise ValueError(line.fault)
    try:
        found = json.loads(line.text)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _text(found: dict[str, Any], path: str) -> str:
    """Return the text of a field; a dot leads into an inner object: meta.title."""
    value: Any = found
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, str):
        raise ValueError(f"no text in the field {path}")
    return value


def _image_line(image: ImageFile) -> str:
    """Return a line of JSON: name, file, offset, size, fault, and size and time of the file.

    With size and time, a changed image has another digest.
    """
    source = image.source
    place = source if isinstance(source, FileRange) else FileRange(Path(image.path or ""))
    try:
        found = os.stat(place.file)
        state = [found.st_size, found.st_mtime_ns]
    except OSError:
        state = []
    range_of = [str(place.file.absolute()), place.offset, place.size]
    return json.dumps([image.name, *range_of, image.fault, isinstance(source, Path), state]) + "\n"


def _image(line: str) -> ImageFile:
    name, path, offset, size, fault, whole, _ = json.loads(line)
    place = Path(path)
    return ImageFile(name, place if whole else FileRange(place, offset, size), fault)
