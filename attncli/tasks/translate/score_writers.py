"""Writers of translation scores: tables for a person, JSON for a program."""

from __future__ import annotations

from collections.abc import Sequence

from attncli.data.json import as_json
from attncli.render.columns import columns, read_modes, speed_cells
from attncli.scoring.translations import Bucket, Evaluation, MetricScore
from attncli.terminal.messages import counted


def scores_as_text(evaluations: Sequence[Evaluation], references: int) -> str:
    """Return tables of the scores and of the scores by length, then the signatures."""
    first = evaluations[0]
    count = len(first.system.hypotheses)
    parts = [
        f"{counted(count, 'sentence')}, {counted(references, 'reference')}\n",
        _score_table(evaluations),
        _length_table(evaluations) if first.buckets else "",
        columns([(score.metric, score.signature) for score in first.scores], left=2),
        read_modes((each.system.name, each.system.read) for each in evaluations),
    ]
    return "\n".join(part for part in parts if part)


def scores_as_json(evaluations: Sequence[Evaluation], references: int) -> str:
    """Return an object with one entry for each system."""
    record = {
        "sentences": len(evaluations[0].system.hypotheses),
        "references": references,
        "systems": [_record(evaluation) for evaluation in evaluations],
    }
    return as_json(record)


def _score_table(evaluations: Sequence[Evaluation]) -> str:
    timed = any(system.seconds for system, *_ in evaluations)
    rows = [["", *(score.metric for score in evaluations[0].scores)]]
    rows[0] += ["seconds", "sentences/s"] if timed else []
    for system, scores, _ in evaluations:
        speed = speed_cells(len(system.hypotheses), system.seconds) if timed else []
        rows.append([system.name, *map(_score, scores), *speed])
    return columns(rows)


def _score(score: MetricScore) -> str:
    interval = "" if score.interval is None else f" ± {score.interval:.2f}"
    chance = "" if score.p_value is None else f" (p = {score.p_value:.3f})"
    return f"{score.value:.2f}{interval}{chance}"


def _length_table(evaluations: Sequence[Evaluation]) -> str:
    """Return a row for each range of source lengths: BLEU and length ratio of each system."""
    several = len(evaluations) > 1
    rows = [["words", "sentences"]]
    for system, *_ in evaluations:
        name = f"{system.name} " if several else ""
        rows[0] += [f"{name}BLEU", f"{name}ratio"]
    for row in zip(*(evaluation.buckets for evaluation in evaluations), strict=True):
        cells = [_span(row[0]), f"{row[0].sentences:,}"]
        for bucket in row:
            cells += [f"{bucket.bleu:.2f}", f"{bucket.ratio:.3f}"]
        rows.append(cells)
    return columns(rows)


def _span(bucket: Bucket) -> str:
    same = bucket.shortest == bucket.longest
    return f"{bucket.shortest}" if same else f"{bucket.shortest}–{bucket.longest}"


def _record(evaluation: Evaluation) -> dict[str, object]:
    system, scores, buckets = evaluation
    record: dict[str, object] = {
        "name": system.name,
        "scores": {score.metric: _score_record(score) for score in scores},
    }
    if system.read.startswith("hard"):
        record["read"] = system.read
    if system.seconds:
        record["seconds"] = round(system.seconds, 3)
        record["sentences_per_second"] = round(len(system.hypotheses) / system.seconds, 3)
    if buckets:
        record["by_length"] = [bucket._asdict() for bucket in buckets]
    return record


def _score_record(score: MetricScore) -> dict[str, object]:
    record = {
        "score": score.value,
        "signature": score.signature,
        "interval": score.interval,
        "p_value": score.p_value,
    }
    return {name: value for name, value in record.items() if value is not None}
