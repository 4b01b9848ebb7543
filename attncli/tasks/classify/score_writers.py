"""Writers of label scores: tables for a person, JSON for a program."""

from __future__ import annotations

from collections.abc import Sequence

from attncli.render.columns import columns
from attncli.render.json import as_json
from attncli.scoring.labels import LabelEvaluation, LabelScores

MOST_COLUMNS = 12  # labels of a confusion matrix that is printed whole
PAIRS = 10  # most frequent confusions that are printed instead


def label_scores_as_text(evaluations: Sequence[LabelEvaluation]) -> str:
    """Return accuracy and macro F1 of each system, then its labels and its confusions."""
    head = [["", "accuracy", "macro F1"]]
    rows = [[name, f"{s.accuracy:.2f}", f"{s.macro_f1:.2f}"] for name, s in evaluations]
    parts = [f"{evaluations[0].scores.texts:,} texts\n", columns(head + rows)]
    for name, scores in evaluations:
        title = f"{name}\n" if len(evaluations) > 1 else ""
        parts += [title + _label_table(scores), _confusions(scores)]
    return "\n".join(parts)


def label_scores_as_json(evaluations: Sequence[LabelEvaluation]) -> str:
    """Return an object with one entry for each system."""
    return as_json(
        {
            "texts": evaluations[0].scores.texts,
            "systems": [{"name": name, **_record(scores)} for name, scores in evaluations],
        }
    )


def _label_table(scores: LabelScores) -> str:
    table = [["label", "precision", "recall", "F1", "texts"]]
    for counts in scores.labels:
        values = (counts.precision, counts.recall, counts.f1)
        table.append([counts.label or "(none)", *(f"{v:.2f}" for v in values), f"{counts.gold:,}"])
    return columns(table)


def _confusions(scores: LabelScores) -> str:
    """Return the confusion matrix or, of many labels, the most frequent confusions."""
    names = [counts.label or "(none)" for counts in scores.labels]
    if len(names) <= MOST_COLUMNS:
        rows = zip(names, scores.confusion, strict=True)
        table = [["gold \\ predicted", *names], *([name, *map(str, row)] for name, row in rows)]
        return columns(table)
    cells = [
        (count, gold, found)
        for gold, row in zip(names, scores.confusion, strict=True)
        for found, count in zip(names, row, strict=True)
        if count and gold != found
    ]
    shown = sorted(cells, reverse=True)[:PAIRS]
    table = [["gold", "predicted", "texts"], *([g, f, str(count)] for count, g, f in shown)]
    return "Most frequent confusions\n" + columns(table, left=2)


def _record(scores: LabelScores) -> dict[str, object]:
    return {
        "accuracy": scores.accuracy,
        "macro_f1": scores.macro_f1,
        "labels": [
            {
                "label": counts.label,
                "precision": counts.precision,
                "recall": counts.recall,
                "f1": counts.f1,
                "texts": counts.gold,
            }
            for counts in scores.labels
        ],
        "confusion": scores.confusion,
    }
