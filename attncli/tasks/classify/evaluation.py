"""Score labels against gold labels: read the test set, classify it, compute the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from attncli.data.lines import Line
from attncli.data.text.labels import LabelledText, read_labelled
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions, model_names
from attncli.options.evaluation import read_outputs, save_outputs
from attncli.scoring.labels import LabelEvaluation, score_labels
from attncli.tasks.classify.lines import classify_lines
from models.catalogue.installed import chosen_model
from models.inference.search.batching import windows
from models.text.normalise import nfc

CHUNK = 2000  # texts between two reports of progress


def evaluate_labels(
    path: Path,
    *,
    models: Sequence[Path] = (),
    hypotheses: Sequence[Path] = (),
    save: Path | None = None,
    options: OpenOptions | None = None,
) -> list[LabelEvaluation]:
    """Score the labels of models, and of other programs, against a table of label, tab, text.

    models: none, and no hypotheses, means the shipped classifier. hypotheses: files with a label
    for each text. save: file for the labels of each model; `{model}` in its name is replaced.
    """
    rows = read_labelled(path)
    gold = [row.label for row in rows]
    others = [
        (path.name, [line.strip() for line in read_outputs(path, len(rows))]) for path in hypotheses
    ]
    folders = list(models) if models or hypotheses else [chosen_model(None, "classify")]
    systems = [*_classified(folders, rows, options, save), *others]
    return [LabelEvaluation(name, score_labels(labels, gold)) for name, labels in systems]


def _classified(
    folders: Sequence[Path],
    rows: Sequence[LabelledText],
    options: OpenOptions | None,
    save: Path | None,
) -> Iterator[tuple[str, list[str]]]:
    """Classify with each model; save its labels before the next model is opened."""
    lines = [Line(number, row.text) for number, row in enumerate(rows, 1)]
    options = options or OpenOptions()
    for name, folder in zip(model_names(folders), folders, strict=True):
        classifier, labels = loading.open_classifier(folder, options), list[str]()
        with options.messages.progress(f"classifying, {name}", total=len(lines)) as advance:
            for outcomes in classify_lines(windows(lines, CHUNK), classifier):
                labels += [outcome.result.label if outcome.result else "" for outcome in outcomes]
                advance(len(labels))
        if unknown := sorted({row.label for row in rows} - {*map(nfc, classifier.labels)}):
            missing = ", ".join(unknown[:5])
            options.messages.warn(f"{name} does not know {missing}: labels of the test set")
        save_outputs(save, name, labels)
        yield name, labels
