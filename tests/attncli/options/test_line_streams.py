"""Input of commands that read lines, and their progress."""

from __future__ import annotations

import io

import pytest

from attncli.faithful.result import Line
from attncli.options.line_streams import ByteProgress, PictureFiles, open_source


def test_progress_within_a_chunk_is_the_share_of_its_texts() -> None:
    shown: list[tuple[float, str]] = []
    progress = ByteProgress(lambda done, note="": shown.append((done, note)))
    chunks = [[Line(1, "abc"), Line(2, "\u00e4\u00e4", "\r\n")], [Line(3, "123456789")]]
    for chunk in progress.read(chunks):
        progress.show_share(1, 4)
        progress.finish(chunk)
    assert shown == [(2.5, "0 lines"), (10, "2 lines"), (12.5, "2 lines"), (20, "3 lines")]


def test_a_hyphen_alone_stands_for_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"read\n")))
    for texts, content in ((["-"], b"read\n"), (["-", "a"], b"-\na\n")):
        with open_source(texts, None) as stream:
            assert stream.read() == content


def test_a_picture_has_a_name_that_no_other_picture_has() -> None:
    pictures = PictureFiles("maps/")
    names = [pictures.path(name).name for name in ("a.wav", "b/a.wav", "a-2.wav", "a.wav", "-")]
    assert names == ["a.png", "a-2.png", "a-2-2.png", "a-3.png", "stdin.png"]
