"""Training in a run folder: resumed anywhere, events, what is kept, limits, a full disk."""

from __future__ import annotations

import itertools
import math
import os
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from attncli.data.embedded import generate
from attncli.train import _stepper as stepper
from attncli.train import job as train
from attncli.train._fit import reopen
from attncli.train._stepper import Stepper
from attncli.train.command_line import settings
from attncli.train.estimate import Estimate
from attncli.train.events import (
    AlreadyFinished,
    Ended,
    Evaluated,
    FinalModel,
    Interrupted,
    Started,
    Stepped,
    read_log,
)
from attncli.train.folder import (
    Counters,
    RunFolder,
    claim,
    is_over,
    read_config,
    read_counters,
    released,
)
from attncli.train.job import dry_run
from attncli.training.config import RunConfig, TrainConfig
from attncli.training.dev import described
from attncli.translate.data import dev_texts
from attncli.translate.source import TextTraining
from models import load
from models.alignment import AlignConfig, choose_head
from models.core.errors import ModelError
from models.networks.bundle import read
from models.storage.archive import read_about
from models.storage.settings import read_settings
from tests.attncli.command_line import Attn, flags
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
        load(folder, "translate").translate(["The dog sleeps."])


def test_without_dev_the_last_weights_are_kept(texts: Texts, tmp_path: Path) -> None:
    config = settings([texts.train], [], "transformer-nano", [*SMALL, "train.checkpoint_minutes=0"])
    events = run(config, tmp_path / "run")
    assert not any(isinstance(event, Evaluated) for event in events)
    assert events[-1] == FinalModel("last", None, 14)
    bundle = load_file(tmp_path / "run" / "model.safetensors")
    for name, tensor in load_file(tmp_path / "run" / "checkpoint.safetensors").items():
        if name.startswith("model/"):
            assert torch.equal(tensor, bundle[name.removeprefix("model/")])


def test_a_dev_set_has_several_references(texts: Texts, tmp_path: Path) -> None:
    lines = texts.dev.read_text("utf-8").splitlines()
    many = tmp_path / "many.tsv"
    many.write_text("".join(f"{line}\tein ganz anderer Satz\n" for line in lines), "utf-8")
    dev = dev_texts([many])
    assert {len(texts) for texts in dev.references} == {2}
    outputs = [line.split("\t")[1] for line in lines]
    assert dev.scores(1.0, outputs, small_config(texts).train).bleu == pytest.approx(100)


def test_pairs_that_are_left_out_are_counted(texts: Texts, tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match="no usable .* 60 are longer than .* tokens; .*data.max_length"
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
    said = ("train.lr was 0.005, now 1e-09", "train.schedule was linear, now constant")
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


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every update take exactly 6 seconds, and everything else no time."""
    now, train_on = [0.0], Stepper.train_on

    def step(*arguments: object, **options: object) -> Stepped:
        now[0] += 6
        return train_on(*arguments, **options)  # type: ignore[arg-type]

    clocks = SimpleNamespace(monotonic=lambda: now[0], perf_counter=time.perf_counter)
    monkeypatch.setattr(stepper, "time", clocks)
    monkeypatch.setattr(Stepper, "train_on", step)


def timed(texts: Texts, *changes: str) -> RunConfig:
    return small_config(texts, "train.steps=0", "train.minutes=1.2", *changes)


def test_the_time_ends_a_run_whose_rate_falls_to_zero(
    texts: Texts, tmp_path: Path, ticking: None
) -> None:
    config = timed(texts, "train.warmup=0")
    events = run(config, tmp_path / "run")
    rates = [event.lr for event in events if isinstance(event, Stepped)]
    ends = [event for event in events if isinstance(event, Ended)]
    assert ends == [Ended(12, "1.2 minutes of training done")]
    assert rates == pytest.approx([config.train.lr * (1 - step / 12) for step in range(12)])


def test_an_interrupted_run_uses_the_time_that_is_left(
    texts: Texts, tmp_path: Path, ticking: None
) -> None:
    config = timed(texts, "train.average=0")
    run(config, tmp_path / "whole")
    for polls in (3, 9):
        calls = itertools.count(1)
        with pytest.raises(Interrupted):
            run(config, tmp_path / "parts", lambda calls=calls, n=polls: next(calls) >= n)  # type: ignore[misc]
    run(config, tmp_path / "parts")
    assert_same(tmp_path / "whole", tmp_path / "parts")
    counters = read_counters(RunFolder(tmp_path / "parts"))
    assert counters and (counters.step, counters.elapsed) == (12, 72)


def test_the_preset_does_not_end_a_run_with_a_time_limit(tmp_path: Path) -> None:
    train = settings([], [], "demo", ["train.minutes=20"]).train
    assert (train.schedule, train.steps, train.epochs, train.patience) == ("linear", 0, 0, 0)
    explicit = settings([], [], "demo", ["train.minutes=20", "train.schedule=constant"]).train
    assert explicit.schedule == "constant"
    (tmp_path / "run.toml").write_text("[train]\nminutes = 20\nsteps = 7\n")
    stored = settings([tmp_path / "run.toml"]).train
    assert (stored.schedule, stored.steps, stored.minutes) == ("linear", 7, 20)


def test_a_raised_limit_continues_as_a_run_with_that_limit(texts: Texts, tmp_path: Path) -> None:
    # a linear rate would depend on the limit
    schedule = "train.schedule=inverse_sqrt"
    changes = ("train.average=0", "train.epochs=0", "train.patience=0", schedule)
    short, long = (small_config(texts, *changes, f"train.steps={n}") for n in (10, 15))
    run(long, tmp_path / "whole")
    run(short, tmp_path / "parts")
    assert isinstance(run(short, tmp_path / "parts")[-1], AlreadyFinished)
    run(long, tmp_path / "parts")
    assert_same(tmp_path / "whole", tmp_path / "parts")
    assert read_config(RunFolder(tmp_path / "parts")).train.steps == 15
    other = replace(long, train=replace(long.train, log_every=7, checkpoint_minutes=1))
    assert isinstance(run(other, tmp_path / "parts")[-1], AlreadyFinished)
    assert read_config(RunFolder(tmp_path / "parts")).train.log_every == 7
    with pytest.raises(ModelError, match="train.steps was 15, now 10"):
        run(short, tmp_path / "parts")


def test_another_rate_without_a_raised_limit_is_refused(texts: Texts, tmp_path: Path) -> None:
    folder, changes = tmp_path / "run", ("train.lr=0.5", "train.schedule=constant")
    run(small_config(texts, "train.steps=3"), folder)
    before = (folder / "config.toml").read_bytes()
    found = r"finished run: train\.lr was 0\.005, now 0\.5, train\.schedule was .*, now constant;"
    with pytest.raises(ModelError, match=f"{found} .* raised limit .* another -o"):
        run(small_config(texts, "train.steps=3", *changes), folder)
    assert (folder / "config.toml").read_bytes() == before
    run(small_config(texts, "train.steps=4", *changes), folder)
    assert read_config(RunFolder(folder)).train.lr == 0.5


def test_an_average_that_was_kept_must_be_improved_on() -> None:
    config = TrainConfig(steps=30, patience=3)
    average = FinalModel("average of 3", 21.5, 20, "bleu")
    counters = Counters(step=20, best=20.0, best_loss=1.0, best_step=10, ended="x", kept=average)
    reopen(counters, replace(config, steps=20))
    assert counters.kept == average  # its limit is reached
    reopen(counters, config)
    assert (counters.best, counters.best_loss, counters.best_step) == (21.5, None, 20)
    assert not counters.ended and not counters.kept


def test_a_run_that_stopped_early_continues_with_more_patience() -> None:
    counters = Counters(step=20, waits=3, ended="no gain in 3 evaluations")
    assert is_over(counters, TrainConfig(steps=90, patience=3))
    assert not is_over(counters, TrainConfig(steps=90, patience=4))


def test_a_run_continues_by_its_folder(texts: Texts, tmp_path: Path, attn: Attn) -> None:
    folder = str(tmp_path / "run")
    attn("train", texts.train, "-o", folder, *flags(SMALL), "-s", "train.steps=3")
    assert "finished before, after 3 updates" in attn("train", folder).err
    said = attn("train", folder, "-s", "train.steps=5").err
    counters = read_counters(RunFolder(tmp_path / "run"))
    assert counters and counters.step == 5
    assert "no dev set" not in said  # a part of the pairs was held out
    assert "without config.toml" in attn("train", tmp_path, status=1).err


def test_a_full_disk_leaves_the_last_checkpoint_whole(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail at every sixteenth write, of a file or a folder; the same command continues the run."""
    steps = ("train.steps=2", "train.evaluate_every=1", "train.average=2")
    config = small_config(texts, *steps, "train.precision=fp32", "train.metric=loss")
    run(config, tmp_path / "unbroken")
    real = os.fsync
    for number in itertools.count(1, 16):
        calls, folder = itertools.count(1), tmp_path / f"full-{number}"

        def full(descriptor: int, calls: Iterator[int] = calls, number: int = number) -> None:
            if next(calls) == number:
                raise OSError(28, "No space left on device")
            real(descriptor)

        monkeypatch.setattr(os, "fsync", full)
        try:
            run(config, folder)
            break
        except ModelError as error:
            assert "No space left on device" in str(error) and "\n" not in str(error)
        monkeypatch.setattr(os, "fsync", real)
        run(config, folder)
        assert_same(folder, tmp_path / "unbroken")
    assert number > 3 * 16


def test_a_log_that_cannot_be_written_is_one_line(texts: Texts, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    config = small_config(texts)
    with pytest.raises(Interrupted):
        run(config, tmp_path / "run", after(3))
    (tmp_path / "run" / "log.jsonl").unlink()
    (tmp_path / "run" / "log.jsonl").symlink_to("/dev/full")
    with pytest.raises(ModelError, match="log.jsonl"):
        run(config, tmp_path / "run")


@pytest.mark.parametrize(
    ("limits", "seconds", "expected"),
    [
        # 2 seconds an update, 24 an evaluation, 10 for the data; 5 batches an epoch
        ({"steps": 400, "epochs": 0}, 10 + 800 + 11 * 24, "about 18 minutes .* 400 updates, 11 ev"),
        ({"steps": 400, "epochs": 0, "evaluate_every": 300}, 10 + 800 + 3 * 24, "3 evaluations"),
        ({"steps": 10**8, "epochs": 3}, 10 + 30 + 24, "15 updates .train.epochs = 3., 1 ev"),
        ({"steps": 5, "epochs": 0}, 10 + 10 + 24, "about 44 seconds .* 5 updates, 1 evaluation$"),
        ({"steps": 400, "epochs": 0, "average": 0}, 10 + 800 + 10 * 24, "10 evaluations"),
        ({"steps": 400, "epochs": 0, "minutes": 5.0}, 10 + 300 + 2 * 24, "train.minutes = 5"),
        ({"steps": 5, "epochs": 0, "minutes": 5.0}, 44, "5 updates"),
        ({"steps": 400, "epochs": 0, "patience": 3}, 1074, "up to about 18 minutes"),
        ({"steps": 0, "epochs": 0}, math.inf, "2 seconds for each update, without a limit"),
    ],
)
def test_the_time_of_a_run_includes_data_updates_and_evaluations(
    limits: dict[str, float], seconds: float, expected: str
) -> None:
    train = replace(TrainConfig(minutes=0.0, patience=0), **limits)  # type: ignore[arg-type]
    sizes = (1, "", 60, "pairs", 0, 12, (), 5, 600)
    found = Estimate(*sizes, seconds=(1.5, 2.5), scoring=2.0, preparation=10.0)
    needed = found.time_needed(train)
    assert needed.seconds == seconds
    assert re.search(expected, str(needed))


def test_without_data_the_grammar_is_learned(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    changes = ["data.demo_size=40", "train.steps=1", "train.metric=loss"]
    config = settings([], [], "transformer-nano", [*SMALL, *changes])
    assert dry_run(config, device="cpu", progress=lambda *progress: None).pairs == 40
    run(config, folder)
    assert len((folder / "train.tsv").read_text("utf-8").splitlines()) == 40
    [first] = generate(1)
    held_out = (folder / "dev.tsv").read_text("utf-8").splitlines()[0]
    assert held_out == f"{first.source}\t{first.target}"
    links = (folder / "dev.links").read_text("utf-8").splitlines()[0]
    assert {tuple(map(int, link.split("-"))) for link in links.split()} == set(first.links)
    assert isinstance(run(config, folder)[0], AlreadyFinished)


def test_the_bundle_says_which_of_several_heads_aligns(texts: Texts, tmp_path: Path) -> None:
    run(small_config(texts, "train.steps=3"), tmp_path / "heads")
    found = read(tmp_path / "heads").alignment
    assert found.layer == 1 and found.extract == "transport"
    pairs = [line.split("\t") for line in texts.dev.read_text("utf-8").splitlines()]
    translator = load(tmp_path / "heads", "translate")
    assert choose_head(translator, [(source, target) for source, target in pairs]) == found
    run(small_config(texts, "train.steps=3", preset="rnnsearch-nano"), tmp_path / "one")
    assert read(tmp_path / "one").alignment == AlignConfig()


def test_snapshots_that_no_checkpoint_names_are_removed(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, "train.average=2")
    run(config, tmp_path / "run")
    found = sorted(path.stem for path in (tmp_path / "run" / "snapshots").iterdir())
    assert found == ["10", "14"]
    assert RunFolder(tmp_path / "run").snapshot(10).exists()
