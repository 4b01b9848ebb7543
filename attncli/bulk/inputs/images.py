"""Images: files, folders and TAR files. Every machine reads them by their paths."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from attncli.bulk.inputs import ShardReading, rows_of
from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import Shard
from attncli.bulk.tasks import BulkTask
from attncli.data.images.index import FileRange
from attncli.data.images.named import ImageFile, named_images


class Images:
    """Images: a record is an image, and a shard names them."""

    def cut(self, paths: Sequence[Path], size: int) -> Iterator[tuple[int, bytes]]:
        """Yield the names and places of the images, `size` at a time.

        A line also has size and time of the file, so that a changed image has another digest.
        """
        groups = named_images(list(map(str, paths)), recursive=True)
        files = chain.from_iterable(groups)
        while group := list(islice(files, size)):
            yield len(group), "".join(map(_line, group)).encode("utf-8", "surrogateescape")

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the images of a shard; their results are rows."""
        lines = shard.content.decode("utf-8", "surrogateescape").splitlines()
        numbers = range(shard.first, shard.first + shard.size)
        return ShardReading(list(map(_file, lines)), numbers, rows_of)


def _line(image: ImageFile) -> str:
    """Return a line of JSON: name, file, offset, size, fault, size and time of the file."""
    source = image.source
    place = source if isinstance(source, FileRange) else FileRange(Path(image.path or ""))
    try:
        found = os.stat(place.file)
        state = [found.st_size, found.st_mtime_ns]
    except OSError:
        state = []
    range_of = [str(place.file.absolute()), place.offset, place.size]
    return json.dumps([image.name, *range_of, image.fault, isinstance(source, Path), state]) + "\n"


def _file(line: str) -> ImageFile:
    name, path, offset, size, fault, whole, _ = json.loads(line)
    place = Path(path)
    return ImageFile(name, place if whole else FileRange(place, offset, size), fault)
