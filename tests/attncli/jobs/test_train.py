"""The training job: a broken run ends as an unbroken one, and a folder holds one run only."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attncli.data.links import read_links
from attncli.embedded.grammar import generate
from attncli.jobs.installed import verify
from attncli.jobs.train import dry_run
from attncli.training import finish
from attncli.training.events import (
    AlreadyFinished,
    Ended,
    Evaluated,
    FinalModel,
    Interrupted,
    Started,
    Stepped,
)
from attncli.training.folder import RunFolder, read_config
from attncli.training.log import read_log
from attncli.training.settings import settings
from attncli.training.sources.text import TextTraining
from attncli.training.sources.text_data import read_dev
from attncli.training.tensor_file import read_metadata
from models import load_translator
from models.alignment import AlignConfig, mutual_trials
from models.bundle import read
from models.errors import ModelError
from tests.attncli.training.small import SMALL, Texts, assert_same, run, small_config, write_texts

VARIANTS = {
    "transformer": ("transformer-nano", ["train.average=2"]),
    "ema": ("transformer-nano", ["train.ema=0.9", "train.average=3", "train.evaluate_every=4"]),
    "accumulate": ("transformer-nano", ["train.accumulate=2", "train.evaluate_every=0"]),
    "bf16": ("transformer-nano", ["train.precision=bf16", "train.optimiser=adamw"]),
    "plateau": (
        "rnnsearch-nano",
        [
            "train.plateau_patience=1",
            "train.evaluate_every=2",
            "train.lr=0.05",
            "train.metric=loss",
        ],
    ),
    "luong": ("luong-nano", ["train.patience=2", "train.evaluate_every=1", "train.steps=0"]),
    "rmsprop": ("rnnsearch-nano", ["train.optimiser=rmsprop"]),
}


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    """Return data for a short run."""
    return write_texts(tmp_path)


def after(polls: int) -> Callable[[], bool]:
    """Return a `stop` that is true from some call on."""
    calls = itertools.count(1)
    return lambda: next(calls) >= polls


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No image at each of many ends."""
    monkeypatch.setattr(finish, "curves", lambda path, history: path.touch())


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_stopped_anywhere_ends_as_an_unbroken_one(
    variant: str, texts: Texts, tmp_path: Path
) -> None:
    preset, changes = VARIANTS[variant]
    config = small_config(texts, *changes, preset=preset)
    run(config, tmp_path / "unbroken")
    stops = 0
    for polls in itertools.cycle([5, 3, 4]):  # evaluations ask twice: these are stopped in, too
        try:
            run(config, tmp_path / "broken", after(polls))
            break
        except Interrupted:
            stops += 1
            assert stops < 100
    assert stops > 2
    assert_same(tmp_path / "broken", tmp_path / "unbroken")


def test_a_checkpoint_before_an_evaluation_that_is_due_does_not_skip_it(
    texts: Texts, tmp_path: Path
) -> None:
    config = small_config(texts, "train.evaluate_every=2", "train.steps=4")
    run(config, tmp_path / "unbroken")
    with pytest.raises(Interrupted):
        run(config, tmp_path / "broken", after(2))
    assert (tmp_path / "broken" / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "broken" / "model.safetensors").exists()
    events = run(config, tmp_path / "broken")
    assert [type(event) for event in events[:2]] == [Started, Evaluated]
    assert_same(tmp_path / "broken", tmp_path / "unbroken")


@pytest.mark.usefixtures("undrawn")
def test_every_part_is_asked_whether_to_stop(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, "train.steps=4", "train.evaluate_every=2")
    polls = 0

    def count() -> bool:
        nonlocal polls
        polls += 1
        return False

    run(config, tmp_path / "unbroken", count)
    for stop in range(1, polls + 1):
        folder = tmp_path / f"stopped-{stop}"
        with pytest.raises(Interrupted):
            run(config, folder, after(stop))
        run(config, folder)
        assert_same(folder, tmp_path / "unbroken")


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
        assert kept.which in (folder / "card.md").read_text() or "average" in kept.which
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


def test_several_references_score_no_worse_than_one(texts: Texts, tmp_path: Path) -> None:
    lines = texts.dev.read_text("utf-8").splitlines()
    many = tmp_path / "many.tsv"
    many.write_text("".join(f"{line}\tein ganz anderer Satz\n" for line in lines), "utf-8")
    dev = read_dev(small_config(Texts(texts.train, many)).data)
    assert dev is not None and len(dev.references) == 2
    run(small_config(texts), tmp_path / "one")
    run(small_config(Texts(texts.train, many)), tmp_path / "two")
    bleu = [
        [r["bleu"] for r in read_log(tmp_path / name / "log.jsonl") if r["event"] == "dev"]
        for name in ("one", "two")
    ]
    assert all(two >= one for one, two in zip(*bleu, strict=True))


def test_pairs_that_are_left_out_are_counted(texts: Texts, tmp_path: Path) -> None:
    with texts.train.open("a", encoding="utf-8") as file:
        file.write("\tnur Ziel\nonly source\t\n" + "long " * 300 + "\tlang\n")
    with texts.dev.open("a", encoding="utf-8") as file:
        file.write("much too long " * 200 + "\tlang\n")
    started = run(small_config(texts, "train.steps=5"), tmp_path / "run")[0]
    assert isinstance(started, Started)
    assert (started.pairs, started.empty, started.long) == (60, 2, 1)
    assert (started.dev, started.dev_long) == (13, 1)


def test_no_usable_pair_is_refused(texts: Texts, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no usable pair .* 60 are longer than data.max_length"):
        run(small_config(texts, "data.max_length=2"), tmp_path / "run")
    run(small_config(texts, "train.steps=1"), tmp_path / "run")  # and nothing stands in the way


def test_a_config_given_back_gives_the_same_run(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, "train.ema=0.5", "train.average=2")
    run(config, tmp_path / "one")
    again = settings([tmp_path / "one" / "config.toml"])
    assert again == config == read_config(RunFolder(tmp_path / "one"))
    run(again, tmp_path / "two")
    assert_same(tmp_path / "one", tmp_path / "two")


def test_compression_and_the_kind_of_files_change_nothing(texts: Texts, tmp_path: Path) -> None:
    import gzip
    import lzma

    import zstandard

    content = texts.train.read_bytes()
    sides = list(zip(*(line.split("\t") for line in content.decode().splitlines()), strict=True))
    for number, name in enumerate(("a.en.gz", "a.de")):
        text = ("\n".join(sides[number]) + "\n").encode()
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    (tmp_path / "a.tsv.xz").write_bytes(lzma.compress(content))
    (tmp_path / "a.tsv.zst").write_bytes(zstandard.compress(content))
    weights = []
    for number, files in enumerate([("a.en.gz", "a.de"), ("a.tsv.xz",), ("a.tsv.zst",)]):
        config = settings([tmp_path / f for f in files], [], "transformer-nano", SMALL)
        run(config, tmp_path / f"run-{number}")
        weights.append((tmp_path / f"run-{number}" / "model.safetensors").read_bytes())
    assert weights[0] == weights[1] == weights[2]


# what a folder refuses


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
    said = refusal(texts, folder, "train.steps=2", "train.lr=0.5", "model.dropout=0.3")
    assert "train.lr was 0.005, now 0.5" in said and "model.dropout was 0.1, now 0.3" in said
    texts.train.write_text("ein\tone\n", "utf-8")
    assert "the train data have changed" in refusal(texts, folder, "train.steps=2")
    (folder / "inputs.json").write_text("[]")
    assert "inputs.json is missing or damaged" in refusal(texts, folder, "train.steps=2")
    (folder / "config.toml").write_text("[train\n")
    assert "config.toml is not TOML" in refusal(texts, folder, "train.steps=2")


def test_a_moved_corpus_is_the_same_corpus(texts: Texts, tmp_path: Path) -> None:
    run(small_config(texts, "train.steps=2"), tmp_path / "run")
    moved = Texts(*(path.rename(path.with_suffix(".txt")) for path in texts))
    assert isinstance(
        run(small_config(moved, "train.steps=2"), tmp_path / "run")[0], AlreadyFinished
    )


def test_a_folder_with_something_else_is_refused(texts: Texts, tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.doc").write_text("years")
    assert "contains files but no run" in refusal(texts, folder)
    (folder / "config.toml").write_text("mine")
    assert "contains files but no run" in refusal(texts, folder)
    assert "cannot write" in refusal(texts, folder / "thesis.doc")
    assert "cannot write" in refusal(texts, folder / "thesis.doc" / "below")


def interrupted(texts: Texts, folder: Path) -> None:
    """Leave a run with two checkpoints, of updates 5 and 7."""
    with pytest.raises(Interrupted):
        run(small_config(texts), folder, after(10))
    assert step_of(checkpoints(folder)[0]) > step_of(checkpoints(folder)[1]) > 0


def step_of(checkpoint: Path) -> int:
    step = json.loads(read_metadata(checkpoint)["counters"])["step"]
    assert isinstance(step, int)
    return step


def checkpoints(folder: Path) -> list[Path]:
    return [RunFolder(folder).checkpoint, RunFolder(folder).previous]


def flip(path: Path, at: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * at)] ^= 1
    path.write_bytes(content)


def test_damaged_checkpoints_are_refused(texts: Texts, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    interrupted(texts, folder)
    whole = [path.read_bytes() for path in checkpoints(folder)]
    from safetensors.torch import save

    few = save({"model/x": torch.zeros(1)}, metadata={"counters": "{}"})
    other = save({"model/x": torch.zeros(1)}, metadata={"counters": '{"no": 1}'})
    for damaged in (whole[0][:-1], whole[0][:100], b"", few, other):
        for path in checkpoints(folder):
            path.write_bytes(damaged)
        assert "checkpoint.safetensors is damaged" in refusal(texts, folder)
    for path, content in zip(checkpoints(folder), whole, strict=True):
        path.write_bytes(content)
    ids = folder / "data" / "source.ids"
    content = ids.read_bytes()
    ids.write_bytes(content[:-2])
    assert "source.ids differs from its digest" in refusal(texts, folder)
    ids.write_bytes(content[:50] + b"\1\0" + content[52:])
    assert "source.ids differs from its digest" in refusal(texts, folder)
    (folder / "data" / "SHA256SUMS").unlink()  # a run of an earlier version
    ids.write_bytes(content[:-2])
    assert "tokenised corpus" in refusal(texts, folder)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("at", [0.01, 0.03, 0.3, 0.6, 0.9999, None])
def test_the_previous_checkpoint_replaces_a_damaged_or_missing_one(
    at: float | None, texts: Texts, tmp_path: Path
) -> None:
    run(small_config(texts), tmp_path / "unbroken")
    folder = tmp_path / "broken"
    interrupted(texts, folder)
    step = step_of(RunFolder(folder).previous)
    flip(checkpoints(folder)[0], at) if at else checkpoints(folder)[0].unlink()
    started = run(small_config(texts), folder)[0]
    assert isinstance(started, Started) and started.step == step
    [warning] = started.notes
    assert ("damaged" if at else "is missing") in warning
    assert warning.endswith("continuing from checkpoint.previous.safetensors")
    assert_same(folder, tmp_path / "unbroken")


@pytest.mark.usefixtures("undrawn")
def test_verify_covers_checkpoints_snapshots_and_prepared_data(
    texts: Texts, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    run(small_config(texts, "train.average=2"), folder)
    assert verify(folder) == ""
    for name in ("checkpoint", "checkpoint.previous", "snapshots/10", "data/target.ids"):
        path = folder / (name if "/t" in name else f"{name}.safetensors")
        content = path.read_bytes()
        flip(path, 0.9)
        with pytest.raises(ModelError, match=path.name):
            verify(folder)
        path.write_bytes(content)


@pytest.mark.usefixtures("undrawn")
def test_a_finished_run_with_a_damaged_checkpoint_is_finished_again(
    texts: Texts, tmp_path: Path
) -> None:
    config = small_config(texts, "train.average=2")
    run(config, tmp_path / "unbroken")
    run(config, tmp_path / "broken")
    last = RunFolder(tmp_path / "broken").checkpoint
    last.write_bytes(last.read_bytes().replace(b"14 updates", b"13 updates"))
    started, *_, final = run(config, tmp_path / "broken")
    assert isinstance(started, Started) and isinstance(final, FinalModel)
    assert_same(tmp_path / "broken", tmp_path / "unbroken")


def test_a_damaged_snapshot_is_refused(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, "train.average=2")
    with pytest.raises(Interrupted):
        run(config, tmp_path / "run", after(16))
    flip(RunFolder(tmp_path / "run").snapshot(10), 0.9)
    with pytest.raises(ModelError, match="snapshots/10.safetensors is damaged"):
        run(config, tmp_path / "run")


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


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["model.attention.score=dot", "model.hidden=33"], "equal sizes"),
        (["model.attention.heads=3"], "divide evenly"),
        (["model.attention.read=hard", "train.attention.coverage=see"], "read 'soft'"),
    ],
)
def test_what_makes_no_model_is_refused_before_any_file_is_read(
    changes: list[str], said: str, tmp_path: Path
) -> None:
    nowhere = Texts(tmp_path / "no.tsv", tmp_path / "none.tsv")
    config = small_config(nowhere, *changes, preset="rnnsearch-nano")
    with pytest.raises(ModelError, match=said):
        run(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(ModelError, match=said):
        dry_run(config, device="cpu", progress=lambda *progress: None)


def test_unequal_line_counts_are_refused_with_both(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("one\ntwo\n")
    (tmp_path / "a.de").write_text("eins\n")
    config = settings([tmp_path / "a.en", tmp_path / "a.de"], [], None, [])
    with pytest.raises(ModelError, match=r"a.en has 2 lines and .*a.de has 1 line;"):
        run(config, tmp_path / "run")


# a disk that is full


@pytest.mark.usefixtures("undrawn")
def test_a_full_disk_leaves_the_last_checkpoint_whole(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail at every third write, of a file or a folder; the repeated command continues the run."""
    config = small_config(texts, "train.steps=2", "train.evaluate_every=1", "train.average=2")
    run(config, tmp_path / "unbroken")
    real = os.fsync
    failures = 0
    for number in itertools.count(1, 3):
        calls = itertools.count(1)

        def full(descriptor: int, calls: Iterator[int] = calls, number: int = number) -> None:
            if next(calls) == number:
                raise OSError(28, "No space left on device")
            real(descriptor)

        monkeypatch.setattr(os, "fsync", full)
        try:
            run(config, tmp_path / f"full-{number}")
            break
        except ModelError as error:
            failures += 1
            assert "No space left on device" in str(error) and "\n" not in str(error)
            monkeypatch.setattr(os, "fsync", real)
            run(config, tmp_path / f"full-{number}")
            assert_same(tmp_path / f"full-{number}", tmp_path / "unbroken")
    assert failures > 10


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


# dry run and demonstration


def test_a_dry_run_counts_what_a_run_would_have(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, "train.epochs=1", "train.steps=0", "train.accumulate=1")
    found = dry_run(config, device="cpu", progress=lambda *progress: None)
    events = run(config, tmp_path / "run")
    started = events[0]
    assert isinstance(started, Started)
    assert found.parameters == started.parameters
    assert (found.pairs, found.left_out) == (started.pairs, 0)
    steps = [event for event in events if isinstance(event, Stepped)]
    assert found.batches == len(steps)
    assert found.target_tokens == sum(event.tokens for event in steps)
    assert found.memory_bytes > 16 * found.parameters


def test_without_data_the_grammar_is_learned(tmp_path: Path) -> None:
    changes = ["data.demo_pairs=40", "data.demo_target=fr", "train.steps=1", "train.metric=loss"]
    config = settings([], [], "transformer-nano", [*SMALL, *changes])
    assert dry_run(config, device="cpu", progress=lambda *progress: None).pairs == 40
    run(config, tmp_path / "run")
    lines = (tmp_path / "run" / "train.tsv").read_text("utf-8").splitlines()
    assert len(lines) == 40
    french = next(iter(generate(1, target="fr")))
    held_out = (tmp_path / "run" / "dev.tsv").read_text("utf-8").splitlines()[0]
    assert held_out == f"{french.source}\t{french.target}"
    lengths = [(len(french.source.split()), len(french.target.split()))]
    (tmp_path / "first").write_text(
        (tmp_path / "run" / "dev.links").read_text("utf-8").splitlines()[0]
    )
    [links] = read_links(tmp_path / "first", lengths, index="0").rows
    assert links.sure == frozenset(french.links)
    assert isinstance(run(config, tmp_path / "run")[0], AlreadyFinished)


def test_the_bundle_says_which_of_several_heads_aligns(texts: Texts, tmp_path: Path) -> None:
    run(small_config(texts, "train.steps=3"), tmp_path / "heads")
    found = read(tmp_path / "heads").alignment
    assert found.layer == 1 and found.extract == "transport"
    pairs = [line.split("\t") for line in texts.dev.read_text("utf-8").splitlines()]
    translator = load_translator(tmp_path / "heads")
    assert (
        mutual_trials(translator, [(source, target) for source, target in pairs])[0].config == found
    )
    run(small_config(texts, "train.steps=3", preset="rnnsearch-nano"), tmp_path / "one")
    assert read(tmp_path / "one").alignment == AlignConfig()


def test_a_preparation_that_was_killed_begins_again(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, "train.steps=2")
    run(config, tmp_path / "unbroken")
    broken = tmp_path / "broken"
    (broken / ".data.part").mkdir(parents=True)
    (broken / ".data.part" / "source.ids").write_text("half")
    (broken / ".config.toml.part").write_text("half")
    (broken / "inputs.json").write_text(json.dumps({"train": "of other data"}))
    run(config, broken)
    assert_same(broken, tmp_path / "unbroken")


def test_snapshots_that_no_checkpoint_names_are_removed(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, "train.average=2")
    run(config, tmp_path / "run")
    found = sorted(path.stem for path in (tmp_path / "run" / "snapshots").iterdir())
    assert found == ["10", "14"]
    assert RunFolder(tmp_path / "run").snapshot(10).exists()


def test_tensorboard_is_written_or_missed_clearly(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, "train.tensorboard=true", "train.steps=2")
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        with pytest.raises(ModelError, match="pip install"):
            run(config, tmp_path / "run")
    else:
        run(config, tmp_path / "run")
        assert list((tmp_path / "run" / "tensorboard").iterdir())
