"""Run folders: what they refuse, how they are listed, verified and pruned."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from attncli.jobs import runs as job
from attncli.jobs.installed import verify
from attncli.training.folder import RunFolder, locked
from attncli.training.interfaces import (
    AlreadyFinished,
    Interrupted,
)
from models import load_translator
from models.core.errors import ModelError
from tests.attncli.command_line import Attn
from tests.attncli.training.small import (
    Texts,
    after,
    finished_and_stopped,
    run,
    small_config,
    write_texts,
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


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a finished run and a stopped one. Not to be changed."""
    return finished_and_stopped(tmp_path_factory.mktemp("trained"))


@pytest.fixture
def folder(trained: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return ./runs with a finished and a stopped run, and the run of a comparison below."""
    monkeypatch.chdir(tmp_path)
    finished, stopped = trained
    shutil.copytree(finished, tmp_path / "runs/demo")
    shutil.copytree(stopped, tmp_path / "runs/half")
    shutil.copytree(finished, tmp_path / "runs/compare/dot/seed-1")
    return tmp_path / "runs"


def listed() -> dict[str, job.RunSummary]:
    return {str(found.path): found for found in job.list_runs()}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def test_runs_are_listed_with_their_state_newest_first(folder: Path) -> None:
    found = listed()
    assert {path: run.state for path, run in found.items()} == {
        "runs/demo": "finished",
        "runs/half": "stopped",
        "runs/compare/dot/seed-1": "finished",
    }
    demo, half = found["runs/demo"], found["runs/half"]
    assert demo.languages == ""  # one table, whose name tells none
    assert demo.step > half.step > 0
    assert demo.score.startswith("loss") and demo.data == "train.tsv"
    assert demo.bytes == sum(len(content) for content in contents(folder / "demo").values())
    assert half.freeable == 0 < demo.freeable < demo.bytes
    (folder / "half/log.jsonl").touch()
    assert next(iter(listed())) == "runs/half"
    with locked(folder / "half"):
        assert listed()["runs/half"].state == "training"
    for name in ("config.toml", "inputs.json"):
        (folder / "next").mkdir(exist_ok=True)
        shutil.copy(folder / "half" / name, folder / "next" / name)
    assert listed()["runs/next"].state == "waiting"
    (folder / "half/config.toml").write_text("[model")
    assert listed()["runs/half"].state == "damaged"


def test_pruning_leaves_a_finished_run_with_the_same_model(folder: Path, attn: Attn) -> None:
    text = "The old dog sees a small house."
    half, before = contents(folder / "half"), contents(folder / "demo")
    expected = load_translator(folder / "demo").translate([text])
    freeable = listed()["runs/demo"].freeable
    attn("runs", "prune", "demo", "--dry-run")
    assert contents(folder / "demo") == before
    assert "--yes" in attn("runs", "prune", "demo", status=1).err, "nobody can answer"
    assert contents(folder / "demo") == before
    attn("runs", "prune", "--yes")
    after = listed()["runs/demo"]
    assert after.state == "finished" and after.freeable == 0
    assert after.bytes <= sum(map(len, before.values())) - freeable + 500  # finished.json
    assert not any((folder / "demo" / n).exists() for n in ("checkpoint.safetensors", "data"))
    assert (folder / "demo/log.jsonl").read_bytes() == before["log.jsonl"]
    assert load_translator(folder / "demo").translate([text]) == expected
    assert contents(folder / "half") == half, "a stopped run still needs its checkpoint"
    assert "nothing to remove" in attn("runs", "prune").err


def test_what_is_shipped_or_has_not_finished_is_never_pruned(
    folder: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = contents(folder / "half")
    with pytest.raises(ModelError, match="not finished"):
        job.prune(folder / "half")
    attn("runs", "prune", "half", "--yes")
    assert contents(folder / "half") == half
    with locked(folder / "demo"):
        before = contents(folder / "demo")
        with pytest.raises(ModelError, match="another process works"):
            job.prune(folder / "demo")
        attn("runs", "prune", "demo", "--yes")
    monkeypatch.setattr(job, "BOX", folder)
    with pytest.raises(ModelError, match="shipped"):
        job.prune(folder / "demo")
    assert contents(folder / "demo") == before


def test_four_levels_are_searched_and_the_home_folder_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, attn: Attn
) -> None:
    for run_folder in ("a/b/c/run", "a/b/c/d/run"):
        shutil.copytree(folder / "demo", folder / run_folder)
    assert set(listed()) >= {"runs/demo", "runs/a/b/c/run"}
    assert "runs/a/b/c/d/run" not in listed(), "it is five levels below"
    monkeypatch.setenv("HOME", str(folder))
    before = contents(folder)
    for place in ("/", str(folder.parent), str(folder)):
        assert "contains the home folder" in attn("runs", "prune", place, "--yes", status=1).err
    assert contents(folder) == before


def test_a_pruned_run_is_finished_for_training_and_no_other_run(tmp_path: Path) -> None:
    texts = write_texts(tmp_path)
    config = small_config(texts)
    events = run(config, tmp_path / "run")
    job.prune(tmp_path / "run")
    assert not RunFolder(tmp_path / "run").checkpoint.exists()
    [again] = run(config, tmp_path / "run")
    assert isinstance(again, AlreadyFinished) and again.kept == events[-1]
    other = small_config(texts, "train.lr=0.5")
    with pytest.raises(ModelError, match=f"another run.*--start-from {tmp_path / 'run'} to start"):
        run(other, tmp_path / "run")
    longer = small_config(texts, "train.steps=99")
    with pytest.raises(ModelError, match=r"pruned, .*train\.steps was 14, now 99"):
        run(longer, tmp_path / "run")
