"""Lines of a stream: what ends them, what is kept, what is waited for."""

from __future__ import annotations

import gzip
import io
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from attncli.data import lines
from attncli.data.lines import Line, read_chunks
from models.base.errors import InputError, ModelError


def read(data: bytes) -> list[Line]:
    return [line for chunk in read_chunks(io.BytesIO(data)) for line in chunk]


def test_lines_end_at_newline_only() -> None:
    text = "a\u2028b\x85c\x0bd\x0ce\x00f\x1cg\rh"
    assert read(f"{text}\nlast".encode()) == [Line(1, text), Line(2, "last")]


def test_a_byte_order_mark_is_not_text() -> None:
    assert [line.text for line in read("\ufeffa\n\ufeffb".encode())] == ["a", "\ufeffb"]


def test_utf_16_is_refused() -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        with pytest.raises(InputError, match="the input in UTF-16.*iconv"):
            read("\ufeffa\nb\n".encode(encoding))


def test_a_line_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_BYTES", 1 << 20)
    long, after = read(b"x" * (1 << 23) + b"\nafter\n")
    assert long.fault == "longer than 1 MiB"
    assert after == Line(2, "after")


def test_a_file_comes_in_large_chunks(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"a line\n" * 5000)
    with open(path, "rb") as stream:
        assert [len(chunk) for chunk in read_chunks(stream)] == [125, 500, 2000, 2000, 375]


def test_a_chunk_has_a_limit_in_bytes() -> None:
    size = 300_000
    chunks = list(read_chunks(io.BytesIO((b"x" * size + b"\n") * 20)))
    assert len(chunks) > 4
    assert sum(map(len, chunks)) == 20


def pipe_with(content: bytes) -> io.BufferedReader:
    """Return a pipe whose writer has written this and left."""
    read_end, write_end = os.pipe()
    os.write(write_end, content)
    os.close(write_end)
    return open(read_end, "rb")


@pytest.mark.parametrize(
    "compress", [gzip.compress, lzma.compress, zstandard.ZstdCompressor().compress]
)
def test_a_compressed_pipe_gives_its_text(compress: Callable[[bytes], bytes]) -> None:
    with pipe_with(compress(b"one\n") + compress(b"two\nthree\n")) as stream:
        texts = [line.text for chunk in read_chunks(stream) for line in chunk]
    assert texts == ["one", "two", "three"]


def test_a_message_about_a_file_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"one\n")[:-1])
    with path.open("rb") as stream, pytest.raises(ModelError, match=f"{path} is damaged"):
        list(read_chunks(stream))


def test_a_compressed_pipe_that_was_cut_off_is_refused() -> None:
    refused = pytest.raises(ModelError, match="the input is damaged or incomplete")
    with pipe_with(gzip.compress(b"one\n")[:-1]) as stream, refused:
        list(read_chunks(stream))


def test_a_full_pipe_gives_growing_chunks() -> None:
    with pipe_with(b"y\n" * 5000) as stream:
        sizes = [len(chunk) for chunk in read_chunks(stream)]
    assert sizes[:3] == [32, 64, 128]
    assert sum(sizes) == 5000
