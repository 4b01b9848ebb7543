"""Contracts of every kind of training data: dry runs, stored settings, dev sets, samples."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attncli.task.table import TRAINING
from attncli.train.command_line import settings
from attncli.train.events import Ended, Evaluated, Started, Stepped
from attncli.train.job import dry_run
from attncli.train.saving import read_evaluations
from attncli.training.config import RunConfig, TrainConfig, to_toml
from attncli.training.sources import find_training_source
from models.core.settings import fields_of
from tests.attncli.training.kinds import KINDS
from tests.attncli.training.small import load, run, write_texts

EPOCH = ("train.steps=0", "train.epochs=2", "train.evaluate_every=0")
VARIED = {"pairs": ("data.concatenate=0.9", "data.noise=0.5"), "corpora": ("data.concatenate=0.5",)}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_a_dry_run_counts_what_the_run_then_has(kind: str, tmp_path: Path) -> None:
    config = KINDS[kind](tmp_path, *EPOCH, *VARIED.get(kind, ()))
    found = dry_run(config, device="cpu", progress=lambda *progress: None)
    started, *events = run(config, tmp_path / "run")
    assert isinstance(started, Started)
    assert (found.parameters, found.pairs) == (started.parameters, started.pairs)
    steps = [event for event in events if isinstance(event, Stepped)]
    first = [event for event in steps if event.epoch == 0]
    assert found.batches == len(first)
    assert found.target_tokens == pytest.approx(sum(event.tokens for event in first), rel=0.02)
    [ended] = [event.step for event in events if isinstance(event, Ended)]
    told = re.search(r"([\d,]+) updates? \(", str(found.time_needed(config.train)))
    assert told and int(told[1]) == pytest.approx(ended, rel=0.1)


@every_kind
def test_config_toml_repeats_the_run(kind: str, tmp_path: Path) -> None:
    config, path = KINDS[kind](tmp_path), tmp_path / "config.toml"
    path.write_text(to_toml(config), "utf-8")
    assert settings([path]) == config


def without_dev(config: RunConfig, share: float) -> RunConfig:
    """Return a run that holds out a share of its examples."""
    names = ("dev", "dev_corpora", "dev_captions", "dev_labels", "dev_transcripts")
    usual = type(config.data)()
    none = {name: getattr(usual, name) for name in names if hasattr(usual, name)}
    return replace(config, data=replace(config.data, dev_share=share, **none))


@every_kind
def test_a_dev_set_that_is_held_out_is_told_and_found_again(kind: str, tmp_path: Path) -> None:
    config = KINDS[kind](tmp_path)
    held, none = (without_dev(config, share) for share in (0.9, 0.0))
    for name in ("held", "none"):
        (tmp_path / name).mkdir()
    data, again = load(held, tmp_path / "held"), load(held, tmp_path / "held")
    assert data.dev and again.dev and [*data.dev.sources] == [*again.dev.sources]
    assert data.examples.count == again.examples.count > 0
    [told] = [remark for remark in data.remarks if remark.startswith("dev set: ")]
    assert "held out of the training data" in told and held.data.dev_option in told
    whole = load(none, tmp_path / "none")
    assert whole.dev is None and whole.examples.count > data.examples.count
    assert not any(remark.startswith("dev set: ") for remark in whole.remarks)


@every_kind
def test_samples_have_outputs_and_a_map_of_one(kind: str, tmp_path: Path) -> None:
    config = KINDS[kind](tmp_path, "train.samples=3", "train.steps=2", "train.evaluate_every=2")
    events = run(config, tmp_path / "run")
    assert any(isinstance(event, Evaluated) for event in events)
    [*_, last] = read_evaluations(tmp_path / "run" / "samples")
    first, *others = last.samples
    assert first.source and first.reference and len(others) in (1, 2)
    assert bool(first.attention) == (kind != "recordings")
    assert not any(sample.attention for sample in others if kind != "corpora")
    assert all(sample.image for sample in others) == (kind == "captions")


def test_settings_that_some_kinds_lack_are_those_that_some_kinds_name() -> None:
    named = [find_training_source(kind).settings for kind in TRAINING]
    declared = fields_of(TrainConfig).items()
    of_some = {name for name, field in declared if field.metadata.get("of_some")}
    assert of_some == {name for each in named for name in each}


def test_a_run_of_pairs_imports_no_other_kind_of_input(tmp_path: Path) -> None:
    pairs = write_texts(tmp_path).train
    program = (
        "import sys\nfrom attncli.shell.app import run\n"
        f"assert run(['train', {str(pairs)!r}, '-p', 'transformer-nano', '--dry-run']) == 0\n"
        "print(*sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    others = ("attncli.caption", "attncli.transcribe.", "attncli.several_inputs", "models.speech")
    assert not [name for name in found.stdout.split() if name.startswith(others)]
