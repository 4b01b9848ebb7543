"""Finished trainings of time_to_quality.py, and their table."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PEER = "JoeyNMT"
HEADER = ("task", "recipe", "seeds", "updates", "seconds", "last score", "target", "seconds to it",
          "times as fast")  # fmt: skip


class Point(NamedTuple):
    """An evaluation. seconds: of the processor so far, without those of evaluations."""

    update: int
    seconds: float
    loss: float | None
    bleu: float | None


class Store:
    """Finished trainings, one JSON object a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self.records: list[dict[str, Any]] = list(map(json.loads, lines))

    def fill(
        self, task: str, recipe: str, seed: int, key: object, work: Callable[[], list[Point]]
    ) -> None:
        """Do the work and store its result, unless it is stored."""
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        if any(record["key"] == digest for record in self.records):
            return
        print(f"{task}, {recipe}, seed {seed}", flush=True)
        record = {"task": task, "recipe": recipe, "seed": seed, "key": digest, "points": work()}
        self.records.append(json.loads(json.dumps(record)))
        with self.path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(record) + "\n")


def table(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a Markdown table: a row per task and recipe, means over the seeds."""
    yield f"| {' | '.join(HEADER)} |"
    yield "|---|---|" + "---:|" * (len(HEADER) - 2)
    for task, group in grouped(records, "task").items():
        yield from rows(task, grouped(group, "recipe"))


def grouped(records: Sequence[dict[str, Any]], name: str) -> dict[str, list[dict[str, Any]]]:
    """Return records by the value of a field, in order of appearance."""
    found: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        found.setdefault(record[name], []).append(record)
    return found


def rows(task: str, recipes: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Yield the rows of a task."""
    first = recipes.get(PEER) or recipes.get("before") or next(iter(recipes.values()))
    best = max if PEER in recipes else last
    target = statistics.mean(best(scores(record)) for record in first)
    slow = statistics.mean(time_to(record, best(scores(record))) or 0.0 for record in first)
    for name, group in recipes.items():
        update, seconds = (statistics.mean(r["points"][-1][i] for r in group) for i in (0, 1))
        score = statistics.mean(scores(record)[-1] for record in group)
        fast = slow if group is first else mean_time(group, target)
        shown = f"{fast:.0f} | {slow / fast:.1f}" if fast else "not reached |"
        yield (
            f"| {task} | {name} | {len(group)} | {update:.0f} | {seconds:.0f} | {abs(score):.3f} "
            f"| {abs(target):.3f} | {shown} |"
        )


def last(values: Sequence[float]) -> float:
    """Return the last value."""
    return values[-1]


def scores(record: dict[str, Any]) -> list[float]:
    """Return BLEU, or the negated loss, of each evaluation."""
    return [-p[2] if p[3] is None else p[3] for p in record["points"]]


def mean_time(group: Sequence[dict[str, Any]], target: float) -> float | None:
    """Return the mean of the seconds to a score; None if a training does not reach it."""
    found = [time_to(record, target) for record in group]
    return None if None in found else statistics.mean(filter(None, found))


def time_to(record: dict[str, Any], target: float) -> float | None:
    """Return the seconds until a score is reached, interpolated; None if it is not."""
    times: list[float] = [point[1] for point in record["points"]]
    points = list(zip(times, scores(record), strict=True))
    for index, (seconds, score) in enumerate(points):
        if score >= target:
            if index == 0:
                return seconds
            earlier, lower = points[index - 1]
            return earlier + (seconds - earlier) * (target - lower) / (score - lower)
    return None
