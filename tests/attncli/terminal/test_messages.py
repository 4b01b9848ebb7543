"""Messages, colours, names and cells: one line each, without control of a terminal."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from attncli.caption.runner import CaptionedImage, CaptionOptions, CaptionRunner
from attncli.data.named_files import NamedFile
from attncli.data.streams import as_json_line
from attncli.terminal import console
from attncli.terminal.messages import (
    TRUE_COLOUR,
    cell,
    colours_of,
    printable,
)
from attncli.train.events import read_log
from models.core.types import Hypothesis
from models.core.use_config import SearchConfig


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本 \U0001f600", "plain é 日本 \U0001f600"),
        ("a\x1b[2Jb\x07", "a\\x1b[2Jb\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("abc\u202etxt", "abc\\u202etxt"),
        ("nam\udce9.txt", "nam\\udce9.txt"),
        ("क्\u200dष", "क्\u200dष"),
    ],
)
def test_control_characters_are_shown_as_escapes(
    text: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    console.say(text)
    assert capsys.readouterr().err == shown + "\n"


@pytest.mark.parametrize(
    ("total", "bar", "end", "interrupted"),
    [(10, False, "working 100 %  7 lines\n", ""), (None, False, "working  7 lines\n", ""),
     (10, True, "100%", "70%")],
)  # fmt: skip
def test_progress_ends_at_its_total_unless_the_work_is_interrupted(
    total: int | None, bar: bool, end: str, interrupted: str,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(console, "is_terminal", lambda: bar)
    with console.progress("working", total=total) as advance:
        advance(7, "7 lines")
    shown = capsys.readouterr().err
    assert end in shown if bar else shown == end
    with pytest.raises(KeyboardInterrupt), console.progress("working", total=total) as advance:
        advance(7)
        raise KeyboardInterrupt
    shown = capsys.readouterr().err
    assert interrupted in shown and "100" not in shown


@pytest.mark.parametrize(
    "environment, is_terminal, colours",
    [
        ({}, True, 256),
        ({"COLORTERM": "truecolor"}, True, TRUE_COLOUR),
        ({"COLORTERM": "truecolor", "NO_COLOR": "1"}, True, 0),
        ({"TERM": "dumb"}, True, 0),
        ({"COLORTERM": "truecolor"}, False, 0),
        ({"FORCE_COLOR": "1"}, False, 256),
        ({"FORCE_COLOR": "0"}, False, 0),
        ({"FORCE_COLOR": "1", "COLORTERM": "24bit"}, False, TRUE_COLOUR),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, 0),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, 256),
    ],
)
def test_colours_follow_the_terminal_and_the_environment(
    environment: dict[str, str], is_terminal: bool, colours: int
) -> None:
    assert colours_of(environment, is_terminal=is_terminal) == colours


def test_a_json_line_has_no_character_that_ends_a_line_or_controls_a_terminal() -> None:
    row = as_json_line({"text": "a\u2028b\x85c\u2029d\x1be\x7ff\x9bg\nh"})
    assert row.isascii() and row.isprintable() and len(row.splitlines()) == 1


def test_names_of_images_are_escaped_in_every_format() -> None:
    name = "a\x1b[2J\x9b31m\u202egpj\udcff.png"
    outcome = CaptionedImage(NamedFile(name), (Hypothesis("c", 0.0, 0.0, (), ()),))
    model: Any = SimpleNamespace(search=SearchConfig(), read_mode="")

    def written(kind: str) -> bytes:
        return CaptionRunner(model, CaptionOptions(format=kind)).rows([outcome])

    for kind in ("text", "tsv"):
        row = written(kind)
        assert row.startswith(b"a\\x1b[2J\\x9b31m\\u202egpj\xff.png\t")
    row = written("jsonl")
    assert printable(row.decode().rstrip("\n")) == row.decode().rstrip("\n")
    assert json.loads(row)["image"] == name.replace("\udcff", "?")


def test_cells_of_csv_files_are_no_formulas() -> None:
    shown = ["'=1+1", "'-x", "a=b", -1.5, None]
    assert [cell(x) for x in ("=1+1", "-x", "a=b", -1.5, None)] == shown


def test_a_damaged_line_of_the_log_is_skipped(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"event": "dev", "step": 1}\n{"event": \xff\n[[[\n7\n\n{"event": "end"}\n')
    assert [record["event"] for record in read_log(path)] == ["dev", "end"]
