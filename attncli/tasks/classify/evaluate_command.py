"""``attn evaluate labels``: options for scores of labels; the work is in evaluation.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.data.streams import check_output, write_stdout
from attncli.jobs.loading import OpenOptions
from attncli.options.evaluation import Json, Save, check_save
from attncli.options.settings import SetOption, read_settings
from attncli.options.shared import Device, Threads
from attncli.options.tables import ReadSettings
from attncli.render.plots import check_picture, confusion_matrices
from attncli.tasks.classify.evaluation import evaluate_labels
from attncli.tasks.classify.score_writers import label_scores_as_json, label_scores_as_text
from attncli.terminal import console

File = Annotated[Path, typer.Argument(metavar="FILE", help="Rows of label, tab, text.")]
Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        help="Classifier to score: its name (`attn models` lists them) or the folder of a run or "
        "bundle; without it, the shipped language identifier. May be repeated.",
    ),
]
Hypotheses = Annotated[
    list[Path] | None,
    typer.Option(help="Labels of another program, a line for each text. May be repeated."),
]
Plot = Annotated[
    Path | None, typer.Option(help="Draw the confusion matrix: a .png, .svg or .pdf file.")
]
Set = Annotated[list[str] | None, SetOption(ReadSettings, example="attention.read_decode=expected")]


def labels(
    file: File,
    *,
    model: Models = None,
    hypotheses: Hypotheses = None,
    plot: Plot = None,
    save: Save = None,
    json: Json = False,
    device: Device = "auto",
    threads: Threads = 0,
    set: Set = None,
) -> None:
    """Score labels of texts against gold labels.

    Prints accuracy and macro F1 (the mean F1 over the labels), both in percent; precision, recall
    and F1 of each label; and the confusion matrix, a row for each gold label and a column for each
    predicted one.

    Example:
      attn evaluate labels test.tsv -m runs/intents --plot confusion.png
      attn evaluate labels test.tsv --hypotheses other.txt
    """
    tables = read_settings(ReadSettings, set).tables
    check_save(model or [], save)
    if plot:
        check_picture(plot)
        check_output(plot)
    evaluations = evaluate_labels(
        file,
        models=model or [],
        hypotheses=hypotheses or [],
        save=save,
        options=OpenOptions(device, threads, tables.attention.read_decode, messages=console),
    )
    if plot:
        confusion_matrices(plot, evaluations)
    write_table = label_scores_as_json if json else label_scores_as_text
    write_stdout(write_table(evaluations))
