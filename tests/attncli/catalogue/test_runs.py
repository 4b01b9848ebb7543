"""Run folders: what they refuse, how they are listed, verified and pruned."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import save as tensors_as_bytes

from attncli.catalogue import _runs as job
from attncli.catalogue._packages import verify
from attncli.train.events import AlreadyFinished
from attncli.train.folder import RunFolder
from models import load
from models.core.errors import ModelError
from models.core.files import locked
from tests.attncli.command_line import Attn
from tests.attncli.training.small import (
    Texts,
    finished_and_stopped,
    run,
    small_config,
    write_texts,
)
from tests.models.damage import flip


def refusal(texts: Texts, folder: Path, *changes: str) -> str:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(ModelError) as refused:
        run(small_config(texts, *changes), folder)
    after = {path: path.read_bytes() for path in before}
    assert {path.name for path in before if before[path] != after[path]} <= {".lock"}
    return str(refused.value)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a finished run and a stopped one. Not to be changed."""
    return finished_and_stopped(tmp_path_factory.mktemp("trained"))


def test_a_folder_of_another_run_is_refused_with_what_differs(texts: Texts, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(small_config(texts, "train.steps=2"), folder)
    moved = Texts(*(path.rename(path.with_suffix(".txt")) for path in texts))
    assert isinstance(run(small_config(moved, "train.steps=2"), folder)[0], AlreadyFinished)
    said = refusal(moved, folder, "train.steps=2", "train.seed=5", "model.dropout=0.3")
    assert "train.seed was " in said and "model.dropout was 0.1, now 0.3" in said
    moved.train.write_text("ein\tone\n", "utf-8")
    assert "the train data have changed" in refusal(moved, folder, "train.steps=2")


def test_a_folder_with_something_else_is_refused(texts: Texts, tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.doc").write_text("years")
    assert "contains files but no run" in refusal(texts, folder)
    (folder / "config.toml").write_text("mine")
    assert "contains files but no run" in refusal(texts, folder)
    assert "cannot write" in refusal(texts, folder / "thesis.doc")
    assert "cannot write" in refusal(texts, folder / "thesis.doc" / "below")


def cut(most: int) -> Callable[[Path], object]:
    """Return a function that leaves the first bytes of a file, or all but the last."""
    return lambda path: path.write_bytes(path.read_bytes()[:most])


def other(counters: str) -> Callable[[Path], object]:
    """Return a function that writes a checkpoint of something else."""
    content = tensors_as_bytes({"model/x": torch.zeros(1)}, metadata={"counters": counters})
    return lambda path: path.write_bytes(content)


def without_digests(path: Path) -> None:
    (path.parent / "SHA256SUMS").unlink()
    cut(-2)(path)


CHECKPOINT, IDS = "checkpoint.safetensors", "data/source.ids"
DAMAGED: list[tuple[str, Callable[[Path], object], str]] = [  # file, damage, what the line says
    *((CHECKPOINT, cut(most), f"{CHECKPOINT} is damaged") for most in (-1, 100, 0)),
    *(
        (CHECKPOINT, other(counters), f"{CHECKPOINT} is damaged")
        for counters in ("{}", '{"no": 1}')
    ),
    *((CHECKPOINT, partial(flip, at=at), "--start-from") for at in (0.01, 0.03, 0.3, 0.6, 0.9999)),
    (IDS, cut(-2), "source.ids differs from its digest"),
    (IDS, partial(flip, at=0.5), "source.ids differs from its digest"),
    (IDS, without_digests, "tokenised pairs"),
    ("inputs.json", cut(1), "inputs.json is missing or damaged"),
    ("config.toml", lambda path: path.write_text("[train\n"), "config.toml is not TOML"),
]


@pytest.mark.parametrize(("name", "damage", "said"), DAMAGED)
def test_a_damaged_file_of_a_stopped_run_is_refused(
    name: str,
    damage: Callable[[Path], object],
    said: str,
    trained: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    folder = Path(shutil.copytree(trained[1], tmp_path / "run"))
    damage(folder / name)
    texts = Texts(*(trained[1].with_name(f"{part}.tsv") for part in ("train", "dev")))
    assert said in refusal(texts, folder, "train.average=2")


def test_a_damaged_snapshot_is_named(trained: tuple[Path, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(trained[1], tmp_path / "run"))
    flip(folder / "snapshots/10.safetensors")
    texts = Texts(*(trained[1].with_name(f"{part}.tsv") for part in ("train", "dev")))
    with pytest.raises(ModelError, match="snapshots/10.safetensors is damaged"):
        run(small_config(texts, "train.average=2"), folder)


@pytest.mark.parametrize("name", [CHECKPOINT, "snapshots/10.safetensors", "data/target.ids"])
def test_verify_covers_checkpoints_snapshots_and_prepared_data(
    name: str, trained: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(trained[0], tmp_path / "run"))
    assert verify(folder) == ""
    flip(folder / name)
    with pytest.raises(ModelError, match=Path(name).name):
        verify(folder)


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
    expected = load(folder / "demo", "translate").translate([text])
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
    assert load(folder / "demo", "translate").translate([text]) == expected
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
