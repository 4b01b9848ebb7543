"""Training in a run folder: resumed anywhere, events, what is kept, what changes nothing."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attncli.jobs import train
from attncli.training.command_line import settings
from attncli.training.dev import described
from attncli.training.folder import RunFolder, claim, released
from attncli.training.interfaces import (
    AlreadyFinished,
    Ended,
    Evaluated,
    FinalModel,
    Interrupted,
    Started,
    Stepped,
)
from attncli.training.log import read_log
from attncli.training.metrics import described
from attncli.translate.source import TextTraining
from models import load_translator
from models.core.errors import ModelError
from models.storage.archive import read_about
from models.storage.settings import read_settings
from tests.attncli.training.small import (
    SMALL,
    Texts,
    after,
    assert_same,
    run,
    small_config,
)


def test_every_part_is_asked_whether_to_stop(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, "train.steps=2", "train.evaluate_every=2")
    polls = itertools.count()
    run(config, tmp_path / "unbroken", lambda: next(polls) < 0)
    for stop in range(1, next(polls) + 1):
        folder = tmp_path / f"stopped-{stop}"
        with pytest.raises(Interrupted):
            run(config, folder, after(stop))
        run(config, folder)
        assert_same(folder, tmp_path / "unbroken")


def test_a_run_killed_before_its_first_evaluation_continues(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "FIRST_CHECKPOINT", 0.0)
    config = small_config(texts, "train.steps=6", "train.evaluate_every=6")
    run(config, tmp_path / "unbroken")
    updates = itertools.count(1)

    def killed() -> bool:
        if next(updates) == 4:
            raise SystemExit  # nothing more is saved
        return False

    with pytest.raises(SystemExit):
        run(config, tmp_path / "broken", killed)
    started = run(config, tmp_path / "broken")[0]
    assert isinstance(started, Started) and started.step == 1
    assert_same(tmp_path / "broken", tmp_path / "unbroken")


@pytest.mark.usefixtures("drawn")
def test_the_events_of_a_run(texts: Texts, tmp_path: Path) -> None:
    events = run(small_config(texts), tmp_path / "run")
    assert isinstance(events[0], Started) and events[0].step == 0
    assert [e.step for e in events if isinstance(e, Stepped)] == list(range(1, 15))
    assert [e.step for e in events if isinstance(e, Evaluated)] == [5, 10, 14]  # and at the end
    assert isinstance(events[-2], Ended) and events[-2].reason == "14 updates done"
    assert isinstance(events[-1], FinalModel)
    records = read_log(tmp_path / "run" / "log.jsonl")
    assert records[0]["event"] == "start" and records[0]["precision"] in ("fp32", "bf16")
    assert records[0]["parameters"] == events[0].parameters
    assert (tmp_path / "run" / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_finished_run_says_so_and_does_nothing(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config(texts)
    kept = run(config, tmp_path / "run")[-1]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.*s*")}
    monkeypatch.setattr(TextTraining, "load", None)  # the data are not read again
    assert run(config, tmp_path / "run") == [AlreadyFinished(14, "14 updates done", kept)]  # type: ignore[arg-type]
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_the_kept_bundle_is_the_best_of_all_that_was_scored(texts: Texts, tmp_path: Path) -> None:
    for change in ("train.average=3", "train.average=0"):
        folder = tmp_path / change
        kept = run(small_config(texts, "train.metric=loss", change), folder)[-1]
        scored = [r for r in read_log(folder / "log.jsonl") if r["event"] in ("dev", "average")]
        assert isinstance(kept, FinalModel) and kept.score is not None
        assert -kept.score == pytest.approx(min(record["loss"] for record in scored), rel=1e-5)
        card, score = (folder / "card.md").read_text(), described(kept.score, "loss")
        assert kept.which in card or "average" in kept.which
        assert f"- {score} on the dev set\n" in card  # of the average too, if that is kept
        assert read_about(read_settings(folder)).score == f"{score} (dev)"
        load_translator(folder).translate(["The dog sleeps."])


def test_without_dev_the_last_weights_are_kept(texts: Texts, tmp_path: Path) -> None:
    config = settings([texts.train], [], "transformer-nano", [*SMALL, "train.checkpoint_minutes=0"])
    events = run(config, tmp_path / "run")
    assert not any(isinstance(event, Evaluated) for event in events)
    assert events[-1] == FinalModel("last", None, 14)
    bundle = load_file(tmp_path / "run" / "model.safetensors")
    for name, tensor in load_file(tmp_path / "run" / "checkpoint.safetensors").items():
        if name.startswith("model/"):
            assert torch.equal(tensor, bundle[name.removeprefix("model/")])


def test_pairs_that_are_left_out_are_counted(texts: Texts, tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match="no usable pair .* 60 are longer than .* tokens; .*data.max_length"
    ):
        run(small_config(texts, "data.max_length=2"), tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    assert not folder.config.exists()  # `attn runs` does not list it
    assert claim(folder, small_config(texts), {}) and not claim(folder, small_config(texts), {})
    with pytest.raises(ModelError), released(folder, is_new=False):
        raise ModelError("no data")
    assert folder.config.exists()  # a run that continues keeps its settings
    with texts.train.open("a", encoding="utf-8") as file:
        file.write("\tnur Ziel\nonly source\t\n" + "long " * 300 + "\tlang\n")
    with texts.dev.open("a", encoding="utf-8") as file:
        file.write("much too long " * 200 + "\tlang\n")
    started = run(small_config(texts, "train.steps=5"), tmp_path / "run")[0]
    assert isinstance(started, Started)
    assert (started.pairs, started.empty, started.long) == (60, 2, 1)
    assert (started.dev, started.dev_long) == (13, 1)


def test_a_run_continues_at_another_learning_rate_with_its_moments(
    texts: Texts, tmp_path: Path
) -> None:
    run(small_config(texts, "train.steps=5", "train.average=0"), tmp_path / "run")
    before = load_file(RunFolder(tmp_path / "run").checkpoint)
    changes = ["train.steps=6", "train.average=0", "train.lr=1e-9", "train.schedule=constant"]
    started, *_ = run(small_config(texts, *changes), tmp_path / "run")
    assert isinstance(started, Started)
    said = ("train.lr was 0.005, now 1e-09", "train.schedule was inverse_sqrt, now constant")
    assert started.notes[:2] == said
    [record] = [
        one for one in read_log(RunFolder(tmp_path / "run").log) if one["event"] == "changed"
    ]
    assert (record["step"], record["settings"]) == (5, [*said])
    after = load_file(RunFolder(tmp_path / "run").checkpoint)
    for name, tensor in before.items():
        if name.startswith("model/"):
            assert torch.allclose(tensor, after[name], atol=1e-7)
        if name.startswith("optimiser/exp_avg_sq/"):  # one more gradient, not a fresh start
            assert (after[name] >= 0.97 * tensor).all() and (tensor > 0).any()
