"""Output files: what their names say."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.data.streams import open_output
from attncli.data.text.text_files import read_content


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
