"""The line "try: ..." after a training runs as printed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.attncli.training.small import SMALL, write_texts
from tests.docs import shell

pytestmark = pytest.mark.skipif(os.name != "posix", reason="fork")
TINY = " ".join(f"-s {setting}" for setting in (*SMALL, "train.steps=2", "train.evaluate_every=2"))
SCENES = (
    "-p show-attend-tell-soft-nano -s data.demo_size=8 -s train.steps=1 -s model.hidden=16 "
    "-s model.embedding=16 -s train.evaluate_every=1 -s search.max_caption=3 -s train.patience=0"
)


@pytest.mark.parametrize(
    ("given", "piece"),
    [
        ("{train} --dev {dev} -p transformer-nano " + TINY, "echo "),
        ("--corpus en-de={train} --dev-corpus en-de={dev} -p transformer-nano " + TINY, "--to de"),
        ("-s data.demo_size=60 -p transformer-nano " + TINY, "echo "),
        (SCENES, "images.tar/"),
        ("--labels labels.tsv -p bilstm-attention-nano -s train.steps=1", "| attn classify"),
    ],
    ids=["files", "multilingual", "grammar", "scenes", "labels"],
)
def test_the_example_runs_as_printed(
    given: str, piece: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = write_texts(tmp_path)
    rows = [f"{'ab'[n % 2]}\t{word} one two\n" for n, word in enumerate("xyzw" * 10)]
    (tmp_path / "labels.tsv").write_text("".join(rows), "utf-8")
    monkeypatch.chdir(tmp_path)
    files = {"train": texts.train.name, "dev": texts.dev.name}
    trained = shell.run(f"attn train {given.format(**files)} -o 'a run'")
    assert trained.status == 0, trained.err
    line = trained.err.splitlines()[-1]
    assert line.startswith("try: ") and piece in line and "'a run'" in line
    done = shell.run(line.removeprefix("try: "))
    assert done.status == 0 and "Traceback" not in done.err, done.err
    assert done.out.count("\n") == 1
