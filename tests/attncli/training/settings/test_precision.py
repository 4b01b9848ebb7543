"""train.precision=auto: measured once, remembered, stored; it changes nothing but the precision."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attncli.data.batching import gather
from attncli.training.events import Interrupted, Started
from attncli.training.interfaces import Data, Prepared
from attncli.training.settings import precision
from attncli.training.settings.config import RunConfig
from attncli.training.settings.precision import decided
from attncli.training.sources import training_source
from attncli.training.storage.folder import RunFolder, read_config
from attncli.training.updates.hardware import computes_bf16, processor
from attncli.training.updates.stepper import Stepper
from tests.attncli.training.small import after, outcome, run, small_config, write_texts

CPU = torch.device("cpu")
DAMAGED = (b"", b"\xff", b"[]", b'{"bf16_gain": "2"}', b"{}", b"[" * 9999)
Clock = Callable[[], float]
Setup = tuple[RunConfig, Prepared]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float, float], Clock]:
    """Return a function that makes a clock from the seconds of an update in fp32 and in bf16."""

    def make(fp32: float, bf16: float) -> Clock:
        now = 0.0

        def update(stepper: Stepper, *arguments: object) -> None:
            nonlocal now
            now += fp32 if stepper.dtype is torch.float32 else bf16

        monkeypatch.setattr(Stepper, "update", update)
        return lambda: now

    return make


@pytest.fixture(autouse=True)
def hardware(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Measure on every processor; return the folder of the test's own cache."""
    monkeypatch.setattr(precision, "computes_bf16", lambda device: True)
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "precision"


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    """Return the settings of a minute run, and its data."""
    config = small_config(write_texts(tmp_path), preset="rnnsearch-nano")
    folder = tmp_path / "prepared"
    folder.mkdir()
    load = training_source(config.model.family).load
    return config, load(config, folder, lambda *progress: None).prepared


def chosen(setup: Setup, timer: Clock) -> tuple[str, str]:
    """Return the chosen precision and the remark."""
    decision = decided(*setup, CPU, timer=timer)
    return decision.config.train.precision, decision.remark


def test_the_faster_precision_is_chosen(
    setup: Setup, clock: Callable[[float, float], Clock], hardware: Path
) -> None:
    assert chosen(setup, clock(3.0, 1.0)) == (
        "bf16",
        "precision: bf16, measured 3.0 times as fast as fp32 (set train.precision to change)",
    )
    (file,) = hardware.iterdir()
    file.unlink()
    assert chosen(setup, clock(1.0, 2.0))[0] == "fp32"


def test_fp32_is_chosen_if_bf16_is_no_faster(
    setup: Setup, clock: Callable[[float, float], Clock]
) -> None:
    found, remark = chosen(setup, clock(1.02, 1.0))
    assert found == "fp32" and "fp32, because bf16 is no faster here" in remark


def test_a_measurement_is_remembered_for_its_model_and_threads(
    setup: Setup,
    clock: Callable[[float, float], Clock],
    hardware: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config, prepared = setup
    first = chosen(setup, clock(2.0, 1.0))
    assert first[0] == "bf16"
    fp32_faster = clock(1.0, 9.0)
    assert chosen(setup, fp32_faster) == first
    other = replace(config, model=replace(config.model, hidden=24))
    assert chosen((other, prepared), fp32_faster)[0] == "fp32"
    onednn = replace(config, train=replace(config.train, products="onednn"))
    assert chosen((onednn, prepared), fp32_faster)[0] == "fp32"
    assert len(list(hardware.iterdir())) == 3
    monkeypatch.setattr(torch, "get_num_threads", lambda: 99)
    assert chosen(setup, fp32_faster)[0] == "fp32"


def test_a_damaged_memory_is_measured_again(
    setup: Setup, clock: Callable[[float, float], Clock], hardware: Path
) -> None:
    chosen(setup, clock(1.0, 2.0))
    (file,) = hardware.iterdir()
    for content in DAMAGED:
        file.write_bytes(content)
        assert chosen(setup, clock(1.0, 2.0))[0] == "fp32"
        assert json.loads(file.read_bytes()) == {"bf16_gain": 0.5}


def test_an_unwritable_cache_is_no_error(
    setup: Setup,
    clock: Callable[[float, float], Clock],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path / "file"))
    assert chosen(setup, clock(2.0, 1.0))[0] == "bf16"
    assert chosen(setup, clock(1.0, 2.0))[0] == "fp32"


def test_slow_updates_are_measured_less_often(
    setup: Setup, clock: Callable[[float, float], Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []

    def recorded(*given: Any) -> Any:
        made.append(given)
        return gather(*given)

    monkeypatch.setattr(precision, "gather", recorded)

    def updates(fp32: float, bf16: float) -> int:
        made.clear()
        precision.measured_gain(*setup, CPU, clock(fp32, bf16))
        return len(made)

    assert updates(1.0, 2.0) == precision.UNTIMED + precision.FEWEST
    assert updates(1.0, 1.1) == precision.UNTIMED + precision.MOST
    assert updates(100.0, 110.0) == 2


def test_a_measurement_changes_no_random_state(setup: Setup) -> None:
    torch.manual_seed(3)
    before, others = torch.get_rng_state(), repr(np.random.get_state())
    decided(*setup, CPU, timer=iter(range(0, 10**6, 40)).__next__)
    assert torch.equal(torch.get_rng_state(), before)
    assert repr(np.random.get_state()) == others


def test_a_fixed_precision_and_other_hardware_are_not_measured(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, hardware: Path
) -> None:
    config, prepared = setup
    fixed = replace(config, train=replace(config.train, precision="bf16"))
    assert decided(fixed, prepared, CPU) == (fixed, "")
    on_gpu = decided(config, prepared, torch.device("cuda"))
    assert on_gpu.config.train.precision == "bf16" and not on_gpu.remark
    monkeypatch.setattr(precision, "computes_bf16", lambda device: False)
    assert decided(config, prepared, CPU).config.train.precision == "fp32"
    assert not hardware.exists()


def test_a_run_ends_as_one_with_the_chosen_precision_and_a_resumed_run_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = "train.steps=4", "train.evaluate_every=4"
    texts, measure = write_texts(tmp_path), precision.measured_gain
    run(small_config(texts, "train.precision=bf16", *few), tmp_path / "fixed")
    gains = [2.0]  # measured once

    def measured(*arguments: Any) -> float:
        assert measure(*arguments) > 0
        return gains.pop()

    monkeypatch.setattr(precision, "measured_gain", measured)
    config = small_config(texts, *few)
    with pytest.raises(Interrupted):
        run(config, tmp_path / "auto", after(2))
    assert read_config(RunFolder(tmp_path / "auto")).train.precision == "bf16"
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path / "another machine"))
    events = run(config, tmp_path / "auto")
    assert isinstance(events[0], Started) and events[0].precision == "bf16"
    found, expected = outcome(tmp_path / "auto"), outcome(tmp_path / "fixed")
    for part in ("counters", "bundle", "checkpoint"):
        assert found[part] == expected[part]


def test_a_run_of_an_earlier_version_continues_without_a_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config(write_texts(tmp_path), "train.steps=3", "train.evaluate_every=3")
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(Interrupted):
        run(config, folder.path, after(2))
    text = folder.config.read_text("utf-8")
    stored = read_config(folder).train.precision
    folder.config.write_text(text.replace(f'precision = "{stored}"', 'precision = "auto"'), "utf-8")
    monkeypatch.setattr(precision, "measured_gain", None)
    events = run(config, folder.path)
    assert isinstance(events[0], Started) and events[0].precision == "bf16"


def test_the_choice_is_a_remark_of_a_new_run(setup: Setup) -> None:
    config, prepared = setup
    remarks = Data(prepared, None).remarking(decided(config, prepared, CPU).remark).prepared.remarks
    assert [remark for remark in remarks if remark.startswith("precision: ")]
    assert Data(prepared, None).remarking("") == Data(prepared, None)


def test_a_processor_is_described() -> None:
    assert torch.backends.cpu.get_cpu_capability() in processor()
    assert isinstance(computes_bf16(CPU), bool)
