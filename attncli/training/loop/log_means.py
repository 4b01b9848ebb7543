"""Means over the updates since the last record of the log; the sums are part of the checkpoint."""

from __future__ import annotations

from typing import Any

from attncli.training.events import Stepped

PER_TOKEN = ("loss", "nll")  # weighted by target tokens; the others by updates
SUMMED = ("tokens", "seconds")


def add_update(sums: dict[str, float], event: Stepped) -> None:
    """Add an update to the sums of an interval."""
    amounts: dict[str, float] = {"updates": 1, "norm": event.norm}
    amounts |= {name: getattr(event, name) for name in SUMMED}
    amounts |= {name: getattr(event, name) * event.tokens for name in PER_TOKEN}
    if event.reward is not None:
        amounts |= {"reward": event.reward, "rewarded": 1}
    for name, amount in amounts.items():
        sums[name] = sums.get(name, 0) + amount


def interval_record(sums: dict[str, float], event: Stepped) -> dict[str, Any]:
    """Return the record of an interval that ends with an update.

    Loss, nll, norm and reward are means over the interval; tokens and seconds are its totals;
    epoch, progress and learning rate are those of its last update.
    """
    record = {name: value for name, value in event._asdict().items() if value is not None}
    record |= {name: sums[name] / sums["tokens"] for name in PER_TOKEN}
    record |= {name: sums[name] for name in SUMMED}
    record["norm"] = sums["norm"] / sums["updates"]
    if "reward" in sums:
        record["reward"] = sums["reward"] / sums["rewarded"]
    return {**record, "tokens_per_second": sums["tokens"] / max(sums["seconds"], 1e-9)}
