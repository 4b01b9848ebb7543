"""Score labels against gold labels: read the test set, classify it, compute the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from attncli.data.lines import Line
from attncli.data.text.labels import LabelledText, read_labelled
from attncli.data.text.text_files import open_text
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions, model_names
from attncli.options.evaluation import write_outputs
from attncli.scoring.labels import LabelEvaluation, score_labels
from attncli.tasks.classify.lines import classify_lines
from models.base.errors import ModelError
from models.catalogue.installed import chosen_model
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
    others = [(path.name, read_hypotheses(path, len(rows))) for path in hypotheses]
    folders = list(models) if models or hypotheses else [chosen_model(None, "classify")]
    systems = [*_classified(folders, rows, options, save), *others]
    return [LabelEvaluation(name, score_labels(labels, gold)) for name, labels in systems]


def read_hypotheses(path: Path, count: int) -> list[str]:
    """Return the labels in a file, one a line; a ModelError unless there are `count`."""
    with open_text(path) as lines:
        labels = [line.strip() for line in lines]
    if len(labels) != count:
        raise ModelError(f"{path} has {len(labels):,} lines", f"{count:,}, one for each text")
    return labels


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
        chunks = (lines[start : start + CHUNK] for start in range(0, len(lines), CHUNK))
        with options.messages.progress(f"classifying, {name}", total=len(lines)) as advance:
            for outcomes in classify_lines(chunks, classifier):
                labels += [outcome.result.label if outcome.result else "" for outcome in outcomes]
                advance(len(labels))
        if unknown := sorted({row.label for row in rows} - {*map(nfc, classifier.labels)}):
            missing = ", ".join(unknown[:5])
            options.messages.warn(f"{name} does not know {missing}: labels of the test set")
        write_outputs(save, name, labels)
        yield name, labels
