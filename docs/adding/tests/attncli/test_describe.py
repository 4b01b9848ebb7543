"""Rows of numbers are described: training, command, evaluation and comparison of the task."""

import io
import json
import random
from pathlib import Path

import pytest

import models
from attncli import load
from attncli.serve.models import Job, ServedModel
from attncli.shell import app
from models.core.errors import ModelError

NAMES = ("left", "middle", "right")


def write_rows(path: Path, count: int, seed: int) -> str:
    """Write rows of three numbers, and the name of the place of the largest."""
    rng = random.Random(seed)
    rows = [[rng.choice((-1, 0, 1)) + rng.random() / 2 for _ in NAMES] for _ in range(count)]
    lines = [
        f"{a:.2f} {b:.2f} {c:.2f}\t{NAMES[(a, b, c).index(max(a, b, c))]}\n" for a, b, c in rows
    ]
    path.write_text("".join(lines))
    return str(path)


def settings(epochs: int) -> list[str]:
    """Return assignments of settings for a short run."""
    return ["-s", f"train.epochs={epochs}", "-s", "train.batch_tokens=300", "-s", "model.dropout=0"]


def test_a_model_is_trained_used_scored_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    train, dev = write_rows(tmp_path / "train.tsv", 300, 1), write_rows(tmp_path / "dev.tsv", 40, 2)
    preset, run = ["--preset", "numbers-nano"], str(tmp_path / "run")
    assert app.run(["train", train, "--dev", dev, *preset, "-o", run, *settings(30)]) == 0
    capsys.readouterr()

    rows = ["0.1 -0.9 1.2", "", "1.3 0.2 -0.6"]
    assert app.run(["describe", "-m", run, *rows]) == 0
    assert capsys.readouterr().out == "right\n\nleft\n"
    assert load(run).describe([[0.1, -0.9, 1.2]]) == ["right"]
    assert app.run(["describe", "-m", run, "--format", "jsonl", rows[0]]) == 0
    assert json.loads(capsys.readouterr().out) == {"row": rows[0], "text": "right"}
    job, served = Job.of("describe"), ServedModel(Path(run))  # as a service runs it
    assert [found.text for found in job.run(served, rows)] == ["right", "", "left"]
    assert app.run(["describe", "-m", run, "0.1 much"]) == 1
    assert "expected 3 numbers" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n0 0 1\n")))
    assert app.run(["describe", "-m", run]) == 1
    shown = capsys.readouterr()
    assert shown.out == "\nright\n" and "line 1 is not valid UTF-8" in shown.err
    with pytest.raises(ModelError, match="describes numbers.*attn describe"):
        models.load(run, "caption")

    assert app.run(["evaluate", "descriptions", dev, "-m", run]) == 0
    assert float(capsys.readouterr().out.split()[-1]) > 90

    compared = ["models", "compare", "additive", "dot", *preset, "--train", train, "--dev", dev]
    out = ["-o", str(tmp_path / "compared"), "--seeds", "1"]
    assert app.run([*compared, *out, *settings(1)]) == 0
    table = capsys.readouterr().out
    assert "accuracy" in table and "additive" in table and "dot" in table
