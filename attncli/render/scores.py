"""Writers of scores of all tasks: tables for a person, JSON for a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attncli.data.streams import as_json
from attncli.render.rows import columns, read_modes, speed_cells
from attncli.scoring.score import MetricScore, System


def scores_as_text(
    head: str, systems: Sequence[System], unit: str, tables: Sequence[str] = ()
) -> str:
    """Return the scores of systems as a table, then further tables, and the signatures.

    unit: plural name of the outputs: "sentences".
    """
    signatures = [(score.name, score.signature) for score in systems[0].scores if score.signature]
    parts = [
        f"{head}\n",
        _table(systems, unit),
        *tables,
        columns(signatures, left=2),
        read_modes((system.name, system.read) for system in systems),
    ]
    return "\n".join(part for part in parts if part)


def scores_as_json(counts: Mapping[str, Any], systems: Sequence[System], unit: str) -> str:
    """Return an object with one entry for each system. counts: sizes of the test set."""
    return as_json({**counts, "systems": [_record(system, unit) for system in systems]})


def _table(systems: Sequence[System], unit: str) -> str:
    timed = any(system.seconds for system in systems)
    rows = [["", *(score.name for score in systems[0].scores)]]
    rows[0] += ["seconds", f"{unit}/s"] * timed
    for system in systems:
        speed = speed_cells(len(system.hypotheses), system.seconds) * timed
        rows.append([system.name, *map(str, system.scores), *speed])
    return columns(rows)


def _record(system: System, unit: str) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": system.name,
        "scores": {score.name: _score_record(score) for score in system.scores},
    }
    if system.read:
        record["read"] = system.read
    if system.seconds:
        record["seconds"] = round(system.seconds, 3)
        record[f"{unit}_per_second"] = round(len(system.hypotheses) / system.seconds, 3)
    return {**record, **system.facts}


def _score_record(score: MetricScore) -> dict[str, Any]:
    record = {
        "score": score.value,
        "signature": score.signature or None,
        "interval": score.interval,
        "p_value": score.p_value,
    }
    return {name: value for name, value in record.items() if value is not None}
