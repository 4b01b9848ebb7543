"""Both engines give the same bytes, messages and exit status for every kind of line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ctranslate2")

from attncli.shell.app import run
from models.storage.installed import BOX

LINES = [
    b"The old dog sees a small house.",
    b"",
    b"   ",
    b"12345",
    b"3.14 + 2",
    b"http://example.com/a?b=c",
    b"me@example.com",
    b"THE OLD DOG SEES A HOUSE.",
    b"  The dog sleeps. ",
    b"The\tdog",
    "The dog\u00a0sees it\u2019s house.".encode(),
    "\U0001f600 \u65e5\u672c\u8a9e".encode(),
    b"<2de> The <b>dog</b> sees {name}.",
    b"!?",
    b"The old dog sees a small house. " * 30,
    b"dog " * 80,
    b"The dog sleeps.\r",
    b"\x00",
    b"\xff\xfe",
    b"the the the the the the the the",
    b"no line end",
]


def translated(
    engine: str, options: list[str], folder: Path, capfd: pytest.CaptureFixture[str]
) -> tuple[int, list[str], str]:
    """Return exit status, lines and messages of `attn translate` with an engine."""
    (folder / "in").write_bytes(b"\n".join(LINES))
    files = ["-i", str(folder / "in"), "-o", str(folder / "out")]
    model = ["-m", str(BOX / "grammar-en-de"), "--precision", "fp32", "--device", "cpu"]
    status = run(["translate", *model, "-s", f"compute.backend={engine}", *files, *options])
    return status, (folder / "out").read_text("utf-8").split("\n"), capfd.readouterr().err


def nearly(value: Any) -> Any:
    """Return a JSON value that is equal to another if their numbers differ by rounding alone."""
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-4, abs=1e-4)
    if isinstance(value, dict):
        return {name: nearly(one) for name, one in value.items()}
    return [nearly(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "options",
    [
        "-s search.method=greedy",
        "--nbest 3 -s search.length_penalty=0",
        "-s search.max_ratio=0.5 -s search.max_extra=1",
        "-s text.long_lines=refuse -s search.split_above=0 --verbatim",
        "-s search.method=sample -s search.seed=3 --nbest 2",
        "--align",
        "--keep-tags",
        "-s compute.batch_tokens=20",
    ],
)
def test_json_lines_are_equal(
    options: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [*options.split(), "--format", "jsonl"]
    status, lines, messages = translated("auto", words, tmp_path, capfd)
    expected = translated("torch", words, tmp_path, capfd)
    assert (status, messages) == (expected[0], expected[2])
    assert len(lines) == len(LINES) + 1
    for line, other in zip(lines, expected[1], strict=True):
        assert line == other or json.loads(line) == nearly(json.loads(other))
