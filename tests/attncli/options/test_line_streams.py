"""Input of commands that read lines, and their progress."""

from __future__ import annotations

import io

import pytest

from attncli.options.line_streams import PictureFiles, open_source


def test_a_hyphen_alone_stands_for_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"read\n")))
    for texts, content in ((["-"], b"read\n"), (["-", "a"], b"-\na\n")):
        with open_source(texts, None) as stream:
            assert stream.read() == content


def test_a_picture_has_a_name_that_no_other_picture_has() -> None:
    pictures = PictureFiles("maps/")
    names = [pictures.path(name).name for name in ("a.wav", "b/a.wav", "a-2.wav", "a.wav", "-")]
    assert names == ["a.png", "a-2.png", "a-2-2.png", "a-3.png", "stdin.png"]
