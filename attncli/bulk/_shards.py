"""Inputs of `attn bulk`: files and their outputs, cut into shards of records, and their results.

Inputs are lines, rows of a table (each shard starts with its first line, which can be a header),
lines of JSON, whose objects get the result or an error as a further field, and images, which every
machine reads by their paths.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, NamedTuple

from attncli.bulk._job import BulkJob, results_of
from attncli.data.lines import byte_lines, check_text, decode
from attncli.data.named_files import FileRange, NamedFile, named_images
from attncli.data.streams import as_json_line, decompressed, open_input, uncompressed
from attncli.data.tables import as_rows
from attncli.faithful.result import Line
from attncli.task.runner import AnyRunner, JsonObject
from attncli.task.table import find_runner
from attncli.terminal.messages import one_cell
from models.core.annexes import find_part
from models.core.errors import InputError, NotFoundError


class BulkSource(NamedTuple):
    """An input with its output."""

    paths: tuple[Path, ...]  # one file, or all names of images
    out: Path

    @property
    def name(self) -> str:
        """Name of the input in messages and rows of errors."""
        return ", ".join(map(str, self.paths))


class Shard(NamedTuple):
    """Consecutive records of one input."""

    number: int  # over all inputs, from 0
    source: int  # index of its input
    first: int  # number of its first record in the input, from 1
    size: int  # records
    content: bytes  # of the records, as the input format writes them


class ShardResult(NamedTuple):
    """Results of a shard."""

    number: int  # of the shard
    size: int  # records
    notes: tuple[
        tuple[int, str, str], ...
    ]  # record from 1, "error" (it has no result) or "warning"
    body: bytes  # what the shard adds to the output, one after another


class Record(NamedTuple):
    """A record of a shard."""

    number: int  # in the input, from 1
    value: object  # as the task takes it; None: nothing to process
    fault: str = ""  # why it could not be read
    line: Line | None = None  # of JSON
    found: JsonObject | None = None  # the object of that line


def sources_of(job: BulkJob, inputs: Sequence[Path], out: Path) -> list[BulkSource]:
    """Return the inputs with their outputs.

    Images are one input. One file of text is written to OUT. Folders and several files are mirrored
    in the folder OUT: a file keeps its path below the given folder, without the suffix of its
    compression. Hidden files, and those of `irregular`, are left out. Raises ModelError if an input
    is missing or a document, two files have the same output, or a link leads out of OUT.
    """
    if job.input == "images":
        if out.is_dir():
            raise InputError(f"{out} is a folder", "a file for all results")
        return [BulkSource(tuple(inputs), out)]
    for path in inputs:
        if not path.exists():
            raise NotFoundError(f"no file or folder {path}", "texts to process")
    if len(inputs) == 1 and inputs[0].is_file() and not out.is_dir():
        sources = [BulkSource((inputs[0],), out)]
    else:
        sources = [
            BulkSource((path,), out / uncompressed(place))
            for given in inputs
            for path, place in _files(given, several=len(inputs) > 1)
            if path.is_file() and out.resolve() not in path.resolve().parents
        ]
    if not sources:
        raise NotFoundError(f"no files in {', '.join(map(str, inputs))}", "files to process")
    _check(sources, out, find_runner(job.task).documents if job.input == "lines" else "")
    return sources


def irregular(inputs: Sequence[Path]) -> list[Path]:
    """Return what is in the folders and no file that can be read to its end: pipes, devices."""
    folders = filter(Path.is_dir, inputs)
    return [p for one in folders for p, _ in _files(one, several=False) if not p.is_file()]


def _files(given: Path, *, several: bool) -> Iterator[tuple[Path, Path]]:
    """Yield the files of an input, each with its path below OUT."""
    if given.is_file():
        yield given, Path(given.name)
        return
    top = Path(given.resolve().name) if several else Path()
    for folder, folders, names in os.walk(given):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            path = Path(folder, name)
            yield path, top / path.relative_to(given)


def _check(sources: Sequence[BulkSource], out: Path, documents: str) -> None:
    """Refuse two files of one output, links out of OUT, and documents if a command is for these."""
    formats = find_part("document", "formats") if documents else None
    seen: dict[Path, BulkSource] = {}
    for source in sources:
        other = seen.setdefault(source.out, source)
        if other is not source:
            raise InputError(
                f"{other.name} and {source.name} have the same output {source.out}",
                "files of different names",
                "process them with two commands",
            )
        if source.out != out and not source.out.parent.resolve().is_relative_to(out.resolve()):
            raise InputError(
                f"{source.out.parent} leads to {source.out.parent.resolve()}",
                f"a folder inside {out}",
                "remove the link",
            )
        if formats and formats.is_document(source.paths[0]):
            raise InputError(
                f"{source.name} is a document, and attn bulk reads lines",
                "text, or JSON lines with --field",
                f"for documents: {documents} {source.name} -o {source.out}",
            )


def shards_of(job: BulkJob, sources: Sequence[BulkSource], size: int) -> Iterator[Shard]:
    """Yield the shards of all inputs, of at most `size` records."""
    number = count()
    for index, source in enumerate(sources):
        first, head = 1, b""
        for group in _groups(job, source.paths, size):
            if first == 1 and job.input != "images":
                check_text(group[0], source.name)
            if job.input == "rows":
                head = head or group[0].rstrip(b"\n") + b"\n"
            yield Shard(next(number), index, first, len(group), head + b"".join(group))
            first += len(group)


def _groups(job: BulkJob, paths: Sequence[Path], size: int) -> Iterator[list[bytes]]:
    """Yield the lines of a file, or a line of JSON for each image, in groups."""
    if job.input == "images":
        kind = find_runner(job.task).files
        files = chain.from_iterable(named_images([*map(str, paths)], recursive=True, kind=kind))
        while images := list(islice(files, size)):
            yield [_image_line(image).encode("utf-8", "surrogateescape") for image in images]
        return
    with open_input(paths[0]) as stream:
        lines = byte_lines(decompressed(stream, paths[0]))
        while group := list(islice(lines, size)):
            yield group


def _image_line(image: NamedFile) -> str:
    """Return name, place, fault and state (size and time) of an image as JSON, for the digest."""
    source = image.source
    place = source if isinstance(source, FileRange) else FileRange(Path(image.path or ""))
    try:
        found = os.stat(place.file)
        # size and time, because the digest of a job would otherwise read every image
        state = [found.st_size, found.st_mtime_ns]
    except OSError:
        state = []
    range_of = [str(place.file.absolute()), place.offset, place.size]
    return json.dumps([image.name, *range_of, image.fault, isinstance(source, Path), state]) + "\n"


def _image(line: str) -> NamedFile:
    name, path, offset, size, fault, whole, _ = json.loads(line)
    place = Path(path)
    return NamedFile(name, place if whole else FileRange(place, offset, size), fault)


def records_of(shard: Shard, job: BulkJob) -> list[Record]:
    """Return the records of a shard; rows have the order of the model's inputs, `job.fields`."""
    if job.input == "images":
        names = shard.content.decode("utf-8", "surrogateescape").splitlines()
        return [Record(number, _image(name)) for number, name in enumerate(names, shard.first)]
    start = shard.first - (job.input == "rows")
    lines = [decode(line, n) for n, line in enumerate(byte_lines(iter([shard.content])), start)]
    if job.input == "rows":
        _, *rows = next(as_rows([[lines[0]._replace(number=1), *lines[1:]]], job.fields))
        return [Record(row.number, row) for row in rows]
    if job.input == "jsonl":
        return [_object_record(line, job) for line in lines]
    return [Record(line.number, line) for line in lines]


def _object_record(line: Line, job: BulkJob) -> Record:
    """Return the record of a line of JSON; a blank line is none."""
    if not line.fault and not line.text.strip():
        return Record(line.number, None, line=line)
    found, fault, item = None, line.fault, find_runner(job.task).item
    try:
        found = None if fault else json.loads(line.text)
    except (ValueError, RecursionError):
        fault = "not JSON"
    texts = [_field(found, field) for field in job.fields]
    if not isinstance(found, dict):
        fault = fault or "not a JSON object"
    elif None in texts:
        fault = f"no text in the field {job.fields[texts.index(None)]}"
    else:
        text = "\t".join(map(one_cell, texts)) if len(texts) > 1 else texts[0]
        return Record(line.number, item(line.number, text), "", line, found)
    return Record(line.number, None, f"line {line.number}: {fault}", line)


def _field(found: object, path: str) -> Any:
    """Return the text of a field, None if there is none; meta.title is in an inner object."""
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) else None


class ShardWorker:
    """The opened models of a job, which process shards."""

    def __init__(self, job: BulkJob) -> None:
        self.job = job

    @cached_property
    def runner(self) -> AnyRunner:
        """The models, opened at the first shard, which reports a mistake."""
        return self.job.open()

    def part(self, shard: Shard) -> ShardResult:
        """Return the results of a shard. A record that cannot be processed costs only its row."""
        records, rows = records_of(shard, self.job), list[bytes]()
        notes: list[tuple[int, str, str]] = []
        results = results_of(self.runner, [one.value for one in records if one.value is not None])
        for record in records:
            result = None if record.value is None else next(results)
            text = None if result is None else self.runner.text(result)
            told = [record.fault] if result is None else [*self.runner.notes(result)]
            kind = "error" if text is None else "warning"
            notes += [(record.number, kind, note) for note in told if note]
            if record.line is not None:
                rows.append(self._object(record.line, record.found, text, told))
            elif result is not None:
                rows.append(self.runner.rows([result]))
        return ShardResult(shard.number, shard.size, tuple(notes), b"".join(rows))

    def _object(
        self, line: Line, found: JsonObject | None, text: str | None, notes: Iterable[str]
    ) -> bytes:
        """Return a line of JSON with its result or an error; without an object, as it is."""
        if found is None:
            # half a character of UTF-16 is valid in JSON, and cannot be encoded
            return f"{line.text}{line.ending}".encode("utf-8", "backslashreplace")
        error = {"error": "".join(notes)} if text is None else {}
        row = as_json_line({**found, self.runner.into: text, **error})
        return f"{row}{line.ending}".encode("utf-8", "backslashreplace")
