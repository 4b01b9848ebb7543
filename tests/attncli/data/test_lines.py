"""Lines of a stream: what ends them, what is kept, what is waited for."""

from __future__ import annotations

import gzip
import io
import lzma
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import zstandard

from attncli.data import lines
from attncli.data.lines import read_chunks
from attncli.data.streams import check_output, open_output
from attncli.data.tables import read_content
from attncli.faithful.result import Line
from attncli.translate.chunks import by_line, translate_lines
from attncli.translate.engine import TranslateOptions
from models.core.errors import InputError, ModelError
from tests.upper_model import Upper


def read(data: bytes) -> list[Line]:
    return [line for chunk in read_chunks(io.BytesIO(data)) for line in chunk]


def lines_of(path: Path) -> list[str]:
    with lines.open_text(path) as found:
        return list(found)


ENDS = "a\u2028b\x85c\x0bd\x0ce\x00f\x1cg\rh"  # of other readers


def test_lines_end_at_newline_only_and_a_mark_of_the_order_is_no_text() -> None:
    assert read(f"{ENDS}\nlast".encode()) == [Line(1, ENDS), Line(2, "last")]
    assert [line.text for line in read("\ufeffa\n\ufeffb".encode())] == ["a", "\ufeffb"]
    for encoding in ("utf-16-le", "utf-16-be"):
        with pytest.raises(InputError, match="the input in UTF-16.*iconv"):
            read("\ufeffa\nb\n".encode(encoding))


def test_every_reader_names_line_ends_of_carriage_returns_alone(tmp_path: Path) -> None:
    content = b"a dog\ra cat\r"
    (path := tmp_path / "f.txt").write_bytes(content)
    for reader in (
        lambda: read(content),
        lambda: list(read_chunks(pipe_with(content))),
        lambda: list(read_chunks(pipe_with(gzip.compress(content)))),
        partial(lines_of, path),
    ):
        with pytest.raises(InputError, match="carriage returns alone.*tr"):
            reader()
    assert [line.text for line in read(b"a dog\r\na\rcat\n")] == ["a dog", "a\rcat"]
    assert [line.text for line in read(b"a dog\r")] == ["a dog\r"]


def test_a_line_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_BYTES", 1 << 20)
    long, after = read(b"x" * (1 << 23) + b"\nafter\n")
    assert long.fault == "longer than 1 MiB"
    assert after == Line(2, "after")


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
def test_a_compressed_pipe_gives_its_text_or_is_refused(compress: Callable[[bytes], bytes]) -> None:
    with pipe_with(compress(b"one\n") + compress(b"two\nthree\n")) as stream:
        texts = [line.text for chunk in read_chunks(stream) for line in chunk]
    assert texts == ["one", "two", "three"]
    with pipe_with(compress(b"one\n")[:-1]) as pipe, pytest.raises(ModelError, match="is damaged"):
        list(read_chunks(pipe))


@pytest.mark.parametrize("end", ["gz", "xz", "zst", "GZ"])
def test_a_name_chooses_the_compression(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.txt.{end}"
    with open_output(path) as write:
        write(b"one\n" * 1000)
        write(b"two\n")
    assert path.stat().st_size < 200
    assert read_content(path) == b"one\n" * 1000 + b"two\n"
    content = path.read_bytes()
    with pytest.raises(KeyError), open_output(path) as write:
        write(b"three\n")
        raise KeyError
    assert path.read_bytes() == content


def test_an_output_is_no_input(tmp_path: Path) -> None:
    path, link = tmp_path / "in.txt", tmp_path / "link.txt"
    path.write_text("one\n")
    link.symlink_to(path)
    for output in (path, link):
        with pytest.raises(ModelError, match="is input and output"):
            check_output(output, None, path)
    check_output(tmp_path / "new.txt", path)
    check_output(Path("/dev/null"), Path("/dev/null"))


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="the system does not name descriptors")
def test_an_output_named_as_a_descriptor_continues_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.write(b"before\n")
        file.flush()
        with open_output(Path(f"/dev/fd/{file.fileno()}")) as write:
            write(b"between\n")
        file.write(b"after\n")
    assert path.read_bytes() == b"before\nbetween\nafter\n"


TRANSLATE = partial(translate_lines, translator=Upper(), options=TranslateOptions())


@pytest.mark.parametrize("text", ["a dog", "a dog\n\na cat\r\n", "\ra\r\r", "", "\n", "a\n12\n"])
def test_every_line_is_translated_and_every_line_end_stays(text: str) -> None:
    chunks = [[Line(1, text), Line(2, "a cat")], [Line(3, text)]]
    first, second = by_line(chunks, TRANSLATE)
    assert [one.line.number for one in (*first, *second)] == [1, 2, 3]
    for outcome in (first[0], *second):
        assert outcome.translation and outcome.translation.text == text.upper()
        assert outcome.line.text == outcome.translation.source == text


def test_a_text_with_a_line_that_is_refused_is_not_translated() -> None:
    [[outcome]] = by_line([[Line(7, "a\nb", fault="longer than 1 MiB")]], TRANSLATE)
    assert outcome.translation is None and "line 7 is longer" in outcome.note
