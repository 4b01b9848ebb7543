"""Output files: what their names say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attncli.data.streams import check_output, open_output
from attncli.data.text.tables import read_content
from models.base.errors import ModelError


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
