"""Valid files of every kind that `attn` reads, and how each is read."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy
import zstandard
from PIL import Image

from attncli.data.alignments import read_external_alignments, read_links
from attncli.data.captions import read_captions
from attncli.data.lines import open_text
from attncli.data.named_files import open_images
from models.core.errors import ModelError
from models.signals.images import open_image
from tests.torture.mutate import mutate_json


class Kind(NamedTuple):
    """A kind of file: its name in the table, contents that are valid, and how one is read."""

    name: str
    contents: list[bytes]
    read: Callable[[Path], object]


def kinds() -> Iterator[Kind]:
    """Return every kind of file."""
    yield Kind("images", _images(), lambda path: open_image(path))
    yield Kind("compressed text", _archives(), _read_lines)
    yield Kind("TAR files", _tars(), _read_tar)
    yield Kind("files of links", _links(), lambda path: read_links(path))
    lengths = [(2, 2), (1, 1)]
    yield Kind("alignments", _alignments(), lambda path: read_external_alignments(path, lengths))
    yield Kind("files of captions", _captions(), lambda path: read_captions(path))


def _images() -> list[bytes]:
    found = []
    image = Image.fromarray(numpy.arange(48 * 40 * 3, dtype=numpy.uint8).reshape(48, 40, 3))
    for kind in ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"):
        stream = io.BytesIO()
        image.save(stream, kind)
        found.append(stream.getvalue())
    return found


def _archives() -> list[bytes]:
    text = "".join(f"line {n}\n" for n in range(300)).encode()
    zstd = zstandard.ZstdCompressor().compress(text)
    return [text, gzip.compress(text), lzma.compress(text), zstd, zstd + gzip.compress(text)]


def _tars() -> list[bytes]:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in ("a.png", "folder/b.png", "../c.png"):
            member = tarfile.TarInfo(name)
            member.size = 700
            archive.addfile(member, io.BytesIO(b"x" * 700))
    return [stream.getvalue()]


def _links() -> list[bytes]:
    return [b"0-0 1p2 2?1\n\n0-1:0.25 1-0:1e-3\n", b"0001 1 1\n0001 2 3 P\n3 1 2 S 0.5\n"]


def _alignments() -> list[bytes]:
    return [b"c d ||| 0.9,0.1 0.2,0.8\nc ||| 0-0\n", b"0-0 1-0\n0-0\n"]


def _captions() -> list[bytes]:
    coco = {
        "images": [{"id": 7, "file_name": "a.jpg"}],
        "annotations": [{"image_id": 7, "caption": "A dog runs."}],
    }
    karpathy = {
        "images": [{"filename": "a.jpg", "split": "train", "sentences": [{"raw": "A dog."}]}]
    }
    random = Random("JSON of captions")
    odd = [mutate_json(random.choice([coco, karpathy]), random) for _ in range(50)]
    tables = [b"a.jpg#0\tA dog.\n", b'image,caption\na.jpg,"A dog."\n', b"a.jpg\tA dog.\n"]
    return [*tables, *(json.dumps(value).encode() for value in (coco, karpathy, *odd))]


def _read_lines(path: Path) -> None:
    with open_text(path) as lines:
        for _ in lines:
            pass


def _read_tar(path: Path) -> None:
    found = open_images(path)
    for place in found.places.values():
        with suppress(ModelError):
            place.read()
