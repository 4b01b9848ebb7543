"""``attn translate --server``: lines, documents and errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attncli.data.lines import Line
from attncli.jobs import remote
from attncli.jobs.remote import RemoteTranslator


def attn(*words: str, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "attncli", "translate", *words]
    known = {**os.environ, **environment}
    return subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=120, env=known
    )


def test_lines_are_those_of_a_model_here(url: str) -> None:
    given = "The train leaves at eight.\n\n  I am tired.\n1234\n"
    here = attn("--to", "de", given=given)
    there = attn("--to", "de", "--from", "en", given=given, ATTN_SERVER=url)
    assert here.returncode == there.returncode == 0
    assert there.stdout == here.stdout


def test_a_document_is_that_of_a_model_here(url: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<h1>Good morning</h1><p>I see the <b>red</b> car.<br>It is <i>old</i>.</p>")
    here = attn("--to", "de", "-i", str(page))
    there = attn("--to", "de", "--from", "en", "-i", str(page), "--server", url)
    assert there.returncode == 0 and there.stdout == here.stdout


def test_long_input_is_sent_in_parts(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "TEXTS", 2)
    lines = [Line(n, text) for n, text in enumerate(["Hello.", "", "Good day.", "Yes.", "No."], 1)]
    sizes: list[int] = []
    found = RemoteTranslator(url, "en", "de").lines(
        [lines], on_batch=lambda done, total: sizes.append(done)
    )
    [outcomes] = found
    texts = [outcome.translation.text for outcome in outcomes if outcome.translation]
    assert len(texts) == 5 and texts[1] == "" and sizes == [2, 4]


def test_errors_are_one_line(url: str) -> None:
    for words, message in (
        (["--to", "zz", "--server", url, "Hello"], "zz is not supported"),
        (["--to", "de", "--server", "http://127.0.0.1:9", "Hello"], "a running `attn serve`"),
        (["--to", "de", "--server", "nonsense", "Hello"], "the address nonsense"),
        (["--to", "de", "--server", f"{url}/health", "Hello"], "refused: Not Found"),
    ):
        done = attn(*words)
        assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1
    assert attn("--server", url, "Hello").returncode == 2
    beam = attn("--server", url, "--to", "de", "--beam", "2", "Hello")
    assert beam.returncode == 2 and "--beam" in beam.stderr
