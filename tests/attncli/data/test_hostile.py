"""Inputs made to exhaust memory or time: each ends soon, in a result or in one clear error."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard
from PIL import Image

from attncli.data.lines import open_text
from attncli.data.named_files import named_images, open_images
from attncli.data.tables import read_content
from attncli.documents.place import project_tags
from attncli.documents.tags import parse
from attncli.faithful.divide import PlanOptions, split
from attncli.faithful.plan import Plan
from attncli.faithful.result import Line
from models.core.errors import ModelError
from models.core.limits import LINE_TAGS
from models.signals.images import open_image
from tests.attncli.files import write
from tests.upper_model import Upper


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """Every case takes well under a second of computing."""
    start = time.process_time()
    yield
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301" * 100_000,
        "." * 100_000,
        "." * 50_000 + '"' * 50_000,
        "," * 50_000 + " " * 50_000 + "x",
        "a\u0301" * 30_000,
        "我们今天去公园。" * 40 + "，，",
        "no marks at all " * 40,
    ],
)
def test_a_long_line_is_split_whatever_it_has(text: str) -> None:
    parts = split(text, lambda part: len(part) <= 200)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    assert all(part.strip() and len(part) <= 200 for part in parts)


@pytest.mark.parametrize(
    "text",
    [
        "%" + "0" * 50_000,
        "%(x)" + "0" * 50_000,
        "<a>" * 4000 + "x" + "</a>" * 4000,
        "(" * 20_000 + "{x}" + ")" * 20_000,
        '<a "' * 4000,
        "<!--" * 20_000,
        "<b></b>" * 20_000,
        "{a,plural," * 20_000,
        "%(" * 20_000,
        "{x} w " * 20_000,
    ],
)
def test_tags_are_found_whatever_the_line_has(text: str) -> None:
    assert project_tags(parse(text), "x", [{0: 1.0}])


def test_more_tags_than_the_ceiling_are_seen_at_once() -> None:
    line = Line(1, "<b>" * (LINE_TAGS + 1) + "a")
    assert Plan.of(line, Upper(), PlanOptions(), tags=True).refused


@pytest.mark.parametrize(
    "compress", [gzip.compress, lzma.compress, zstandard.ZstdCompressor(level=1).compress]
)
def test_a_compressed_file_is_read_in_small_portions(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path = write(tmp_path / "file", compress(b"\n" * (1 << 26)))
    tracemalloc.start()
    with open_text(path) as lines:
        assert next(lines) == ""
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 27


def test_a_frame_that_asks_for_much_memory_is_refused(tmp_path: Path) -> None:
    settings = zstandard.ZstdCompressionParameters(window_log=29, compression_level=1)
    content = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    packed = content.compress(os.urandom(1 << 16)) + content.flush()
    with pytest.raises(ModelError, match="damaged or incomplete"):
        read_content(write(tmp_path / "file", packed))


def test_a_file_read_as_a_whole_has_a_ceiling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attncli.data.streams.FILE_BYTES", 1 << 20)
    with pytest.raises(ModelError, match="longer than"):
        read_content(write(tmp_path / "file", gzip.compress(b"x" * (1 << 21))))


def test_named_pipes_and_links_in_a_circle_are_no_images(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "loop.jpg").symlink_to("loop.jpg")
    (tmp_path / "zero.jpg").symlink_to("/dev/zero")
    for name in ("pipe.jpg", "loop.jpg", "zero.jpg"):
        with pytest.raises(ModelError):
            open_image(tmp_path / name)
    with pytest.raises(ModelError, match="holds no file"):
        open_images(tmp_path)


def test_a_pattern_follows_no_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "more" / ".hidden").mkdir(parents=True)
    for name in ("a.png", "more/b.png", "more/.hidden/c.png"):
        Image.new("RGB", (2, 2)).save(tmp_path / name)
    for name in ("one", "two", "more/three"):
        (tmp_path / name).symlink_to(tmp_path)
    for pattern in ("**/*.png", "**"):
        [found] = named_images([f"{tmp_path}/{pattern}"])
        names = [os.path.relpath(file.name, tmp_path) for file in found]
        assert names == ["a.png", "more/b.png"]


def test_an_image_of_many_bytes_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.signals.images.IMAGE_BYTES", 100)
    content = io.BytesIO()
    Image.new("RGB", (99, 99)).save(content, "BMP")
    with pytest.raises(ModelError, match="at most 100"):
        open_image(write(tmp_path / "file", content.getvalue()))
