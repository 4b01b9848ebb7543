"""``attn evaluate labels``: scores of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from attncli.classify._scores import LabelScores, confusion_matrices, score_labels
from attncli.classify._table import read_labelled
from attncli.classify.runner import ClassifyOptions
from attncli.faithful.result import Line
from attncli.options.evaluation import Evaluation, ModelOutputs, command
from attncli.render.rows import columns
from attncli.scoring.score import MetricScore, System
from models.text.normalise import nfc
from models.text.tokenizer import MAX_LABELS

MAX_COLUMNS = 12  # labels of a confusion matrix that is printed whole
PAIRS = 10  # most frequent confusions that are printed instead


class ScoredLabelOptions(ClassifyOptions):
    """Options of `attn evaluate labels`."""

    TABLES = "attention"


@command
@dataclass(kw_only=True)
class LabelEvaluation(Evaluation):
    """Score labels of texts against gold labels.

    Prints accuracy and macro F1 (the mean F1 over the labels), both in percent; precision, recall
    and F1 of each label; and the confusion matrix, a row for each gold label and a column for each
    predicted one. Of a model with more than 12 labels also hit@10, the share of texts with the gold
    label among the first 10, and MRR, the mean of 1 / its rank.

    Example:
      attn evaluate labels test.tsv -m runs/intents --plot confusion.png
      attn evaluate labels test.tsv --hypotheses other.txt
    """

    task, unit, options_of = "classify", "text", ScoredLabelOptions
    EXAMPLE = "attention.read_decode=expected"

    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rows of label, tab, text.")]
    plot: Annotated[
        Path | None, typer.Option(help="Draw the confusion matrix: a .png, .svg or .pdf file.")
    ] = None
    gold: list[str] = field(init=False)
    found: dict[str, LabelScores] = field(init=False, default_factory=dict)  # by system

    def read(self, folders: Sequence[Path]) -> None:
        """Read the texts with their labels; a model ranks all of its labels."""
        rows = read_labelled(self.file)
        self.options = replace(self.options, nbest=MAX_LABELS)
        self.gold = [nfc(row.label) for row in rows]
        self.counts = {"texts": len(rows)}
        self.items = [Line(number, row.text) for number, row in enumerate(rows, 1)]

    def of_model(self, outputs: ModelOutputs) -> System:
        """Return the labels of a model, with the ranks of the gold labels."""
        system, runner, results = outputs
        ranks = []
        for result, wanted in zip(results, self.gold, strict=True):
            found = [nfc(each.label) for each in result.labels]
            ranks.append(1 + found.index(wanted) if wanted in found else 0)
        if unknown := sorted({*self.gold} - {*map(nfc, runner.model.labels)}):
            missing = f"{', '.join(unknown[:5])}: labels of the test set"
            self.options.messages.warn(f"{system.name} does not know {missing}")
        self.found[system.name] = score_labels(system.hypotheses, self.gold, ranks)
        return System(system.name)

    def of_file(self, path: Path) -> System:
        """Return the labels of another program."""
        labels = [line.strip() for line in super().of_file(path).hypotheses]
        self.found[path.name] = score_labels(labels, self.gold)
        return System(path.name)

    def scored(self, systems: list[System]) -> list[System]:
        """Return the systems with their scores, and those of each label for JSON."""
        every = self.found.values()
        is_ranked = all(one.ranks and len(one.labels) > MAX_COLUMNS for one in every)
        scored = []
        for system in systems:
            found = self.found[system.name]
            values = {"accuracy": found.accuracy, "macro F1": found.macro_f1}
            values |= {"hit@10": found.hits(10), "MRR": found.mrr} if is_ranked else {}
            labels = [
                {
                    "label": one.label,
                    **{"precision": one.precision, "recall": one.recall, "f1": one.f1},
                    "texts": one.gold,
                }
                for one in found.labels
            ]
            scores = tuple(MetricScore(name, value) for name, value in values.items())
            facts = {"labels": labels, "confusion": found.confusion}
            scored.append(system._replace(scores=scores, facts=facts))
        return scored

    def tables(self, systems: Sequence[System]) -> list[str]:
        """Return the labels and the confusions of each system."""
        tables = []
        for name, found in self.found.items():
            table = [["label", "precision", "recall", "F1", "texts"]]
            for counts in found.labels:
                values = [f"{v:.2f}" for v in (counts.precision, counts.recall, counts.f1)]
                table.append([counts.label or "(none)", *values, f"{counts.gold:,}"])
            title = f"{name}\n" if len(systems) > 1 else ""
            tables += [title + columns(table), _confusions(found)]
        return tables

    def draw(self, path: Path, systems: Sequence[System]) -> None:
        """Draw the confusion matrix of each system."""
        confusion_matrices(path, [(one.name, self.found[one.name]) for one in systems])


def _confusions(scores: LabelScores) -> str:
    """Return the confusion matrix or, of many labels, the most frequent confusions."""
    names = [counts.label or "(none)" for counts in scores.labels]
    if len(names) <= MAX_COLUMNS:
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
