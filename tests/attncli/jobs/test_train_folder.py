"""A run folder refuses other runs, other data and damaged files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attncli.jobs.installed import verify
from attncli.training.folder import RunFolder
from attncli.training.interfaces import (
    AlreadyFinished,
    Interrupted,
)
from models.core.errors import ModelError
from tests.attncli.training.small import (
    Texts,
    after,
    run,
    small_config,
)
from tests.models.test_bundle import flip


def refusal(texts: Texts, folder: Path, *changes: str) -> str:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(ModelError) as refused:
        run(small_config(texts, *changes), folder)
    after = {path: path.read_bytes() for path in before}
    assert {path.name for path in before if before[path] != after[path]} <= {".lock"}
    return str(refused.value)


def test_a_folder_of_another_run_is_refused_with_what_differs(texts: Texts, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(small_config(texts, "train.steps=2"), folder)
    moved = Texts(*(path.rename(path.with_suffix(".txt")) for path in texts))
    assert isinstance(run(small_config(moved, "train.steps=2"), folder)[0], AlreadyFinished)
    texts = moved
    said = refusal(texts, folder, "train.steps=2", "train.seed=5", "model.dropout=0.3")
    assert "train.seed was " in said and "model.dropout was 0.1, now 0.3" in said
    texts.train.write_text("ein\tone\n", "utf-8")
    assert "the train data have changed" in refusal(texts, folder, "train.steps=2")
    (folder / "inputs.json").write_text("[")
    assert "inputs.json is missing or damaged" in refusal(texts, folder, "train.steps=2")
    (folder / "config.toml").write_text("[train\n")
    assert "config.toml is not TOML" in refusal(texts, folder, "train.steps=2")


def test_a_folder_with_something_else_is_refused(texts: Texts, tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.doc").write_text("years")
    assert "contains files but no run" in refusal(texts, folder)
    (folder / "config.toml").write_text("mine")
    assert "contains files but no run" in refusal(texts, folder)
    assert "cannot write" in refusal(texts, folder / "thesis.doc")
    assert "cannot write" in refusal(texts, folder / "thesis.doc" / "below")


def test_damaged_checkpoints_are_refused(texts: Texts, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(Interrupted):
        run(small_config(texts), folder, after(10))
    checkpoint = RunFolder(folder).checkpoint
    whole = checkpoint.read_bytes()
    from safetensors.torch import save

    few = save({"model/x": torch.zeros(1)}, metadata={"counters": "{}"})
    other = save({"model/x": torch.zeros(1)}, metadata={"counters": '{"no": 1}'})
    for damaged in (whole[:-1], whole[:100], b"", few, other):
        checkpoint.write_bytes(damaged)
        assert "checkpoint.safetensors is damaged" in refusal(texts, folder)
    for place in (0.01, 0.03, 0.3, 0.6, 0.9999):
        checkpoint.write_bytes(whole)
        flip(checkpoint, place)
        assert "--start-from" in refusal(texts, folder)
    checkpoint.write_bytes(whole)
    ids = folder / "data" / "source.ids"
    content = ids.read_bytes()
    ids.write_bytes(content[:-2])
    assert "source.ids differs from its digest" in refusal(texts, folder)
    ids.write_bytes(content[:50] + b"\1\0" + content[52:])
    assert "source.ids differs from its digest" in refusal(texts, folder)
    (folder / "data" / "SHA256SUMS").unlink()
    ids.write_bytes(content[:-2])
    assert "tokenised pairs" in refusal(texts, folder)


def test_verify_covers_checkpoints_snapshots_and_prepared_data(
    texts: Texts, tmp_path: Path
) -> None:
    folder, config = tmp_path / "run", small_config(texts, "train.average=2")
    snapshot = RunFolder(folder).snapshot(10)
    with pytest.raises(Interrupted):
        run(config, folder, snapshot.exists)
    whole = snapshot.read_bytes()
    flip(snapshot, 0.9)
    with pytest.raises(ModelError, match="snapshots/10.safetensors is damaged"):
        run(config, folder)
    snapshot.write_bytes(whole)
    run(config, folder)
    assert verify(folder) == ""
    for name in ("checkpoint", "snapshots/10", "data/target.ids"):
        path = folder / (name if "/t" in name else f"{name}.safetensors")
        content = path.read_bytes()
        flip(path, 0.9)
        with pytest.raises(ModelError, match=path.name):
            verify(folder)
        path.write_bytes(content)


def test_a_mistake_in_the_data_leaves_a_folder_that_can_be_used(
    texts: Texts, tmp_path: Path
) -> None:
    good = texts.train.read_text("utf-8")
    for path, content, message in (
        (texts.train, good + "no tab\n", "line 61 has no tab"),
        (texts.train, "", "train.tsv is empty"),
        (texts.dev, "no tab\n", "line 1 has no tab"),
        (texts.dev, "", "dev.tsv is empty"),
    ):
        kept = path.read_text("utf-8")
        path.write_text(content, "utf-8")
        with pytest.raises(ModelError, match=message):
            run(small_config(texts), tmp_path / "run")
        path.write_text(kept, "utf-8")
    texts.dev.rename(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match="cannot read .*dev.tsv"):
        run(small_config(texts), tmp_path / "run")
    (tmp_path / "elsewhere").rename(texts.dev)
    run(small_config(texts), tmp_path / "run")
