"""Settings: from files and the command line into one configuration, and back; what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.commands.train_options import spread
from attncli.commands.train_run import Display
from attncli.training.command_line import settings
from attncli.training.configuration import run_config
from attncli.training.folder import differences
from attncli.training.interfaces import Evaluated, Scores, Started, Stepped
from attncli.training.settings.config import RunConfig, TrainConfig, read_run_config
from attncli.training.settings.toml import from_toml, to_toml
from models.core.registry import source_name
from models.storage.presets import PRESETS, model_config
from tests.attncli.command_line import Attn
from tests.attncli.training.small import SMALL, write_texts


@pytest.mark.parametrize("preset", PRESETS)
def test_toml_gives_back_what_was_written(preset: str) -> None:
    texts = {"train": ['odd "name"\\ü.en', "b"], "dev": ["c", "d"]}
    images = {"images": 'odd "name"\\ü.tar', "captions": "b", "dev_captions": "c"}
    labels = {"labels": 'odd "name"\\ü.tsv', "dev_labels": "b"}
    rows = {"train": ['odd "name"\\ü.tsv'], "target": "t"}
    sounds = {"audio": 'odd "name"\\ü.tar', "transcripts": "b", "augment": {"join": "1-6"}}
    data = {
        **{"text": texts, "image": images, "labelled_text": labels, "rows": rows},
        "audio": sounds,
    }
    config = run_config(preset, {"data": data.get(source_name(model_config(preset).family), {})})
    text = to_toml(config)
    assert read_run_config(from_toml(text, "x")) == config
    assert "# peak learning rate\nlr = " in text


def test_assignments_go_over_the_file_and_the_file_over_the_preset(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        'preset = "rnnsearch-small"\n[train]\nlr = 0.25\nwarmup = 3\n[data]\ntrain = ["a", "b"]\n'
    )
    config = settings(
        [tmp_path / "run.toml"], [], None, ["train.warmup=4", "model.attention.score=dot"]
    )
    assert config.preset == "rnnsearch-small" and config.model.family == "rnnsearch"
    assert (config.train.lr, config.train.warmup) == (0.25, 4)
    assert config.model.attention.score == "dot"
    assert config.data.train == (str(Path.cwd() / "a"), str(Path.cwd() / "b"))
    other = settings([tmp_path / "run.toml", Path("c"), Path("d")], [Path("e.tsv")])
    assert [Path(p).name for p in other.data.train] == ["c", "d"]
    assert [Path(p).name for p in other.data.dev] == ["e.tsv"]


def test_without_data_the_demonstration_is_the_preset() -> None:
    assert settings([]).preset == "demo"
    assert settings([Path("a"), Path("b")]).preset == RunConfig.preset
    assert settings([], [], None, ["data.train=a,b"]).preset == RunConfig.preset


@pytest.mark.parametrize("option", ["data.train={}", "--corpus"])
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_run_that_would_never_end_is_refused(
    option: str, more: tuple[str, ...], tmp_path: Path, attn: Attn
) -> None:
    """Early stopping needs a dev set, which few pairs do not have."""
    table = write_texts(tmp_path).train
    given = (option, f"en-de={table}") if option == "--corpus" else ("-s", option.format(table))
    words = ["train", "-p", "transformer-nano", *given, "-o", tmp_path / "run"]
    words += [part for each in (*SMALL, "train.steps=0", "train.epochs=0") for part in ("-s", each)]
    assert "no dev set has a gain to wait for; expected an end" in attn(*words, *more, status=1).err
    assert not (tmp_path / "run" / "data").exists()
    stops = ("data.dev_share=0.5", "train.patience=1", "train.lr=1e-9")
    ended = attn(*words, *more, *(part for each in stops for part in ("-s", each)))
    assert more or "no gain in 1 evaluation" in ended.err


def test_files_become_absolute_and_may_move_but_settings_may_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = ["data.images=a", "data.captions=b", "data.regions=c", "train.attention.regions=1"]
    found = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "b").write_text("a.png\ta dog\n")
        monkeypatch.chdir(tmp_path / name)
        changes.append(f"train.seed={len(changes)}")
        found.append(settings([], [], "show-attend-tell-soft-nano", changes))
        assert found[-1].data.regions == str(tmp_path / name / "c")
    assert differences(*found) == ["train.seed was 5, now 4"]


# which files are dev files
@pytest.mark.parametrize(
    "line, expected",
    [
        ("a b --dev c d -o x", "a b --dev c --dev d -o x"),
        ("--dev c d a b", "--dev c --dev d --dev a --dev b"),
        ("--dev c d -o x a b", "--dev c --dev d -o x a b"),
        ("--dev c --dev d a", "--dev c --dev d --dev a"),
        ("--dev=c a b", "--dev=c a b"),
        ("a b --dev c -- d", "a b --dev c -- d"),
        ("a b", "a b"),
    ],
)
def test_dev_takes_what_follows(line: str, expected: str) -> None:
    assert spread(line.split()) == expected.split()


def test_a_run_begins_without_the_score_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    display, notes = Display(TrainConfig(steps=9)), []
    monkeypatch.setattr(Display, "begin", lambda self, label, total: None)
    display.advance = lambda done, note="": notes.append(note)
    begun = Started(
        "x", 1, "1 token", 1, "pairs", "", 0, 0, (), 1, 0, "cpu", "fp32", "bleu", False, 0
    )
    step = Stepped(1, 0, 0.1, 2.0, 2.0, 0.1, 1.0, None, 10, 1.0)
    for event in (begun, Evaluated(1, 0, Scores(1.0, 33.0, None), True), step, begun, step):
        display.take(event)
    first, second = notes[:2]
    assert "BLEU 33.00" in first and "BLEU" not in second
