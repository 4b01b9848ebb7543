"""`attn train` as a program: killed, interrupted, started twice, and asked for nonsense."""

from __future__ import annotations

import os
import random
import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.train.command_line import settings
from tests.attncli.command_line import Attn, flags
from tests.attncli.training.small import SMALL, Texts, assert_same, outcome, run
from tests.forks import Program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")
LONG = ("-s", "train.steps=100000", "-s", "train.patience=0", "-s", "train.evaluate_every=50")


def arguments(texts: Texts, folder: Path, *more: str) -> list[str]:
    files = [str(texts.train), "--dev", str(texts.dev)]
    named = ["-p", "transformer-nano", "-o", str(folder), "--threads", "1", "--device", "cpu"]
    return ["train", *files, *named, *flags(SMALL), *more]


def started(texts: Texts, folder: Path, *more: str) -> Program:
    return Program(arguments(texts, folder, *more))


def wait_until(there: Callable[[], bool], process: Program) -> None:
    """Wait for something that the process does, or for its end."""
    limit = time.monotonic() + 240
    while not there() and process.poll() is None:
        assert time.monotonic() < limit
        time.sleep(0.001)


def has(path: Path, text: str) -> Callable[[], bool]:
    return lambda: path.exists() and text in path.read_text("utf-8")


def ended(process: Program, status: int) -> str:
    """Return stderr of the process; check that stdout is empty and no traceback was printed."""
    out, err = process.communicate()
    assert process.returncode == status, err
    assert out == "" and "Traceback" not in err
    return err


def test_killed_at_any_moment_it_ends_as_an_unbroken_run(texts: Texts, tmp_path: Path) -> None:
    more = ["train.steps=30", "train.checkpoint_minutes=0", "train.ema=0.9", "train.average=2"]
    config = settings([texts.train], [texts.dev], "transformer-nano", [*SMALL, *more])
    run(config, tmp_path / "unbroken")
    seed = time.time_ns()
    print(f"random seed {seed}")  # noqa: T201  (pytest shows it if the test fails)
    broken, chance = tmp_path / "broken", random.Random(seed)
    moments: list[Callable[[], bool]] = [
        lambda: any(broken.glob(".data.*.part/tokenizer.model")),  # in the preparation
        has(broken / "log.jsonl", '"step": 5,'),  # in an evaluation, or just before it
    ]
    for moment in [*moments, None]:
        process = started(texts, broken, *flags(more))
        if moment is None:
            wait_until((broken / ".lock").exists, process)
            time.sleep(chance.random() * 2)
        else:
            wait_until(moment, process)
        process.kill()
        process.communicate()
    ended(started(texts, broken, *flags(more)), 0)
    left, right = outcome(broken), outcome(tmp_path / "unbroken")
    assert left["files"] == right["files"]
    assert_same(broken, tmp_path / "unbroken")


def test_signals_save_first_and_one_process_works_in_a_folder(texts: Texts, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    log = folder / "log.jsonl"
    first = started(texts, folder, *LONG)
    wait_until(has(log, '"step": 3,'), first)
    second = ended(started(texts, folder, *LONG), 1)
    assert second.count("\n") == 1 and "another process works in" in second
    first.send_signal(signal.SIGTERM)
    said = ended(first, 143)
    assert "saved in" in said and (folder / "curves.png").exists()
    steps = log.read_text().count('"event": "train"')
    third = started(texts, folder, *LONG)
    wait_until(has(log, f'"step": {steps + 3},'), third)
    third.send_signal(signal.SIGINT)
    said = ended(third, 130)
    assert f"continuing after update {steps:,}" in said and "saved in" in said


def test_ctrl_c_in_the_preparation_ends_at_once(texts: Texts, tmp_path: Path) -> None:
    lines = texts.train.read_text("utf-8").splitlines()
    chance = random.Random(1)
    words = "\n".join(lines).split()
    text = (" ".join(chance.choices(words, k=9)) + f"x{i:x}\tja\n" for i in range(60_000))
    texts.train.write_text("".join(text), "utf-8")
    process = started(texts, tmp_path / "run", "-s", "tokenizer.size=8000")
    assert process.stderr.readline() == "reading\n"  # the pieces are learned now
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    said = ended(process, 130)
    assert said.count("\n") <= 2 and "the same command" in said and "saved" not in said
    assert time.monotonic() - begun < 5
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        *(".lock", "config.toml", "inputs.json")
    ]


def test_a_run_in_plain_lines_and_again(texts: Texts, tmp_path: Path, attn: Attn) -> None:
    with texts.train.open("a", encoding="utf-8") as file:
        file.write("only source\t\n")
    command = arguments(texts, tmp_path / "a run", "-s", "train.samples=3")
    out, err = attn(*command)
    lines = err.splitlines()
    summary = next(line for line in lines if line.startswith("transformer-nano: "))
    assert " parameters, 330 joint tokens, 60 sentence pairs, 12 for dev; cpu, " in summary
    assert "attn: sentence pairs excluded: 1 with an empty side" in err
    assert "update 14  epoch" in err and "ended after 14 updates\n" in err
    page = tmp_path / "a run" / "samples" / "index.html"
    assert page.exists() and lines[-2] == f"samples of the dev set: {page}"
    example = shlex.split(lines[-1])[2]
    assert lines[-1].startswith("try: echo ") and f"{example}\t" in texts.dev.read_text("utf-8")
    assert lines[-1].endswith(f" | attn translate -m '{tmp_path}/a run'")
    assert out == "" and "\r" not in err and "\x1b" not in err
    assert attn(*command).err.startswith("finished before, after 14 updates; kept")
