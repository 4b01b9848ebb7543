"""Precision of matrix products for `train.precision = "auto"`: measured, remembered, stored.

On a GPU, auto is bf16 if the GPU supports it. On a CPU that computes bf16 in hardware, both
precisions are timed on the same batches with a throwaway copy of the model, and the faster one is
used. Small models are often faster in fp32, because casts and kernel compilation cost more than the
faster products save. The result is remembered in the user's cache for this processor, torch
version, number of threads and model shape. The run stores the precision in its configuration, so
that a resumed run keeps it on any machine.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from attncli.data.batching import gather
from attncli.data.images.features import cache_folder
from attncli.training.interfaces import Prepared
from attncli.training.run.run import fresh_state
from attncli.training.settings.config import RunConfig
from attncli.training.updates.epoch import batches_of, set_encoder_frozen
from attncli.training.updates.hardware import DTYPES, computes_bf16, processor
from attncli.training.updates.stepper import Stepper
from models.base.errors import ModelError
from models.base.files import write_text
from models.base.parsing import parse_json
from models.base.settings import to_dict
from models.bundle import sizes_of

LEAST_GAIN = 1.05  # fp32, which is more exact, is used unless bf16 is this many times as fast
CLEAR_GAIN = 1.3  # a ratio this far from 1 ends the measurement after FEWEST timed updates
UNTIMED, FEWEST, MOST = 2, 3, 7  # updates in each precision: before the timed ones, and timed
BUDGET = 30.0  # seconds after which no further update is timed

Timer = Callable[[], float]


class Decision(NamedTuple):
    """Precision of a run."""

    config: RunConfig  # with fp32 or bf16 as train.precision
    remark: str = ""  # how it was chosen; "" if nothing was measured


def decided(
    config: RunConfig,
    prepared: Prepared,
    device: torch.device,
    *,
    timer: Timer = time.perf_counter,
) -> Decision:
    """Return the settings with fp32 or bf16 in place of auto.

    The random state is the same afterwards. timer: clock in seconds.
    """
    if config.train.precision != "auto":
        return Decision(config)
    if device.type != "cpu" or not computes_bf16(device):
        return Decision(unmeasured(config, device))
    path = cache_folder() / "precision" / f"{_key(config, prepared)}.json"
    gain = _remembered(path)
    if gain is None:
        gain = round(measured_gain(config, prepared, device, timer), 3)
        _remember(path, gain)
    chosen = "bf16" if gain >= LEAST_GAIN else "fp32"
    return Decision(_with(config, chosen), described(chosen, gain))


def unmeasured(config: RunConfig, device: torch.device) -> RunConfig:
    """Return the settings with bf16 in place of auto if the hardware computes it, otherwise fp32.

    Earlier versions made this choice, and their runs continue with it.
    """
    if config.train.precision != "auto":
        return config
    return _with(config, "bf16" if computes_bf16(device) else "fp32")


def measured_gain(
    config: RunConfig, prepared: Prepared, device: torch.device, timer: Timer
) -> float:
    """Return the speed of an update in bf16 relative to fp32.

    It is the median over a few batches, each of which is computed in both precisions. Weights and
    optimiser are a throwaway copy.
    """
    gains: list[float] = []
    with torch.random.fork_rng(devices=[]):
        began = timer()
        for gain in _gains(config, prepared, device, timer):
            gains.append(gain)
            middle = statistics.median(gains[UNTIMED:] or gains)
            is_clear = max(middle, 1 / middle) >= CLEAR_GAIN
            if len(gains) >= UNTIMED + (FEWEST if is_clear else MOST):
                break
            if len(gains) > 1 and timer() - began > BUDGET:
                break
    return statistics.median(gains[UNTIMED:] or gains[-1:])


def described(chosen: str, gain: float) -> str:
    """Return the line that tells the user about a choice.

    It is the same for a new and for a remembered measurement, because it is part of the log.
    """
    other, times = ("fp32", gain) if chosen == "bf16" else ("bf16", 1 / gain)
    why = f"measured {times:.1f} times as fast as {other}"
    if times < LEAST_GAIN:
        why = f"because {other} is no faster here"
    return f"precision: {chosen}, {why} (set train.precision to change)"


def _gains(
    config: RunConfig, prepared: Prepared, device: torch.device, timer: Timer
) -> Iterator[float]:
    """Yield, for batch after batch, the time of an update in fp32 over that in bf16."""
    train = config.train
    state = fresh_state(config, prepared, device)
    set_encoder_frozen(state.model, 0, train)
    stepper = Stepper(state, train, torch.float32)
    examples = prepared.examples.at(0)
    plan = batches_of(examples, train)
    for number in range(UNTIMED + MOST):
        batch = gather(examples, plan[number % len(plan)], device)
        seconds = {}
        for name in DTYPES if number % 2 else reversed(DTYPES):
            stepper.dtype = DTYPES[name]
            started = timer()
            stepper.update([batch], 0.0)
            seconds[name] = timer() - started
        yield seconds["fp32"] / seconds["bf16"]


def _with(config: RunConfig, precision: str) -> RunConfig:
    return replace(config, train=replace(config.train, precision=precision))


def _key(config: RunConfig, prepared: Prepared) -> str:
    """Return a hash of everything that the measurement depends on."""
    facts: dict[str, Any] = {
        "processor": processor(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "model": to_dict(config.model),
        "vocabulary": list(sizes_of(prepared.tokenizer, config.model.family)),
        "batch": [config.train.batch_tokens, config.train.r_drop, config.train.encoder_from == 1],
    }
    if config.train.products != "torch":
        facts["products"] = config.train.products
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def _remembered(path: Path) -> float | None:
    """Return the measured gain in a cache file; None if it is missing or damaged."""
    try:
        gain = parse_json(path.read_text("utf-8"))["bf16_gain"]
        return float(gain) if 0 < gain < float("inf") else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _remember(path: Path, gain: float) -> None:
    """Store a measured gain; without a writable cache it is measured again next time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps({"bf16_gain": gain}) + "\n")
    except (OSError, ModelError):
        return
