"""``attn classify``: parse the options, run the job, write the labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from attncli.classify.runner import ClassifyOptions, ClassifyRunner
from attncli.data.streams import check_output, write_stdout
from attncli.data.tables import LabelledText, read_labelled
from attncli.faithful.result import Line
from attncli.jobs.evaluate import evaluated
from attncli.options import line_streams, shared
from attncli.options.settings import SetOption
from attncli.render.plots import check_picture, confusion_matrices
from attncli.render.rows import RowFormat, columns, scores_as_json, scores_as_text
from attncli.scoring.score import MetricScore, System
from attncli.scoring.sequences import LabelScores, score_labels
from attncli.terminal import console
from models.storage.installed import chosen_model
from models.text.normalise import nfc
from models.text.tokenizer import MOST

Text = Annotated[
    list[str] | None, typer.Argument(help="Text to classify. Default: the lines of the input.")
]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model",
        "-m",
        help="Classifier: its name (`attn models` lists them) or the folder of a run or bundle; "
        "without it, the model shipped for this command.",
    ),
]
Nbest = Annotated[int, typer.Option("--nbest", "-n", min=1, help="Labels per line.")]
Scores = Annotated[bool, typer.Option("--scores", help="Put the probability before the label.")]
Show = Annotated[bool, typer.Option("--show", help="Write each line with its words coloured.")]
PictureFile = Annotated[
    Path | None,
    typer.Option(help="Draw the words on the colour of their weight: .svg, .png, .pdf, .html."),
]
Set = Annotated[list[str] | None, SetOption(ClassifyOptions, example="picture.lines=1-20")]


def classify(
    text: Text = None,
    *,
    model: Model = None,
    input: line_streams.Input = None,
    output: line_streams.Output = None,
    format: Annotated[RowFormat, typer.Option(help="How to write the labels.")] = "text",
    nbest: Nbest = 1,
    with_scores: Scores = False,
    show: Show = False,
    picture: PictureFile = None,
    device: shared.Device = "auto",
    threads: shared.Threads = 0,
    set: Set = None,
) -> None:
    """Classify text: one line in, one label out, in order.

    Lines come from the arguments, a file or standard input. A line that is not valid text gives an
    empty line and a message, and exit status 1 at the end. With --show and --picture, each word has
    the colour of its weight in the pooling. See docs/classify.md.

    Example:
      attn classify -m runs/intents "play some jazz"
      attn classify -m runs/intents --nbest 3 --format jsonl < lines.txt
      attn classify -m runs/intents --show --picture words.svg < lines.txt
    """
    options = ClassifyOptions.of_command(locals(), messages=console)
    check_output(output, input)
    shared.check_texts(text or [], "classify")
    drawing = line_streams.check_drawing(picture, options.picture.lines, drawn=show)
    line_streams.check_shown(show, format)
    with line_streams.open_source(text, input) as stream:
        runner = ClassifyRunner.open(model, options)
        weights = show or picture is not None or format == "jsonl"
        words = line_streams.Picture(drawing, line_streams.WEIGHTED_TEXTS)
        complete = line_streams.write_lines(
            runner, stream, output, words, weights=weights, show=show
        )
        words.draw()
    raise typer.Exit(not complete)


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
MOST_COLUMNS = 12  # labels of a confusion matrix that is printed whole
PAIRS = 10  # most frequent confusions that are printed instead


class ScoredLabelOptions(ClassifyOptions):
    """Options of `attn evaluate labels`."""

    TABLES = "attention"


ScoreSet = Annotated[
    list[str] | None, SetOption(ScoredLabelOptions, example="attention.read_decode=expected")
]


def labels(
    file: File,
    *,
    model: Models = None,
    hypotheses: Hypotheses = None,
    plot: Plot = None,
    save: shared.Save = None,
    json: shared.Json = False,
    device: shared.Device = "auto",
    threads: shared.Threads = 0,
    set: ScoreSet = None,
) -> None:
    """Score labels of texts against gold labels.

    Prints accuracy and macro F1 (the mean F1 over the labels), both in percent; precision, recall
    and F1 of each label; and the confusion matrix, a row for each gold label and a column for each
    predicted one. Of a model with more than 12 labels also hit@10, the share of texts with the gold
    label among the first 10, and MRR, the mean of 1 / its rank.

    Example:
      attn evaluate labels test.tsv -m runs/intents --plot confusion.png
      attn evaluate labels test.tsv --hypotheses other.txt
    """
    options = ScoredLabelOptions.of_command(locals(), messages=console)
    shared.check_save(model or [], save)
    if plot:
        check_picture(plot)
        check_output(plot)
    rows = read_labelled(file)
    gold = [row.label for row in rows]
    others = [
        (path.name, [line.strip() for line in shared.read_outputs(path, len(rows))])
        for path in hypotheses or ()
    ]
    folders = model or ([] if hypotheses else [chosen_model(None, "classify")])
    evaluations = [
        *_classified(folders, rows, options, save),
        *((name, score_labels(labels, gold)) for name, labels in others),
    ]
    write_stdout(label_scores(evaluations, json=json))
    if plot:
        confusion_matrices(plot, evaluations)


def _classified(
    folders: Sequence[Path],
    rows: Sequence[LabelledText],
    options: ClassifyOptions,
    save: Path | None,
) -> Iterator[tuple[str, LabelScores]]:
    """Score the labels of each model."""
    gold, every = [nfc(row.label) for row in rows], replace(options, nbest=MOST)
    lines = [Line(number, row.text) for number, row in enumerate(rows, 1)]
    for (name, labels, *_), runner, results in evaluated(
        "classify", folders, lines, every, save=save
    ):
        ranks = []
        for result, wanted in zip(results, gold, strict=True):
            found = [nfc(each.label) for each in result.result.labels] if result.result else []
            ranks.append(1 + found.index(wanted) if wanted in found else 0)
        if unknown := sorted({*gold} - {*map(nfc, runner.model.labels)}):
            missing = ", ".join(unknown[:5])
            options.messages.warn(f"{name} does not know {missing}: labels of the test set")
        yield name, score_labels(labels, gold, ranks)


def label_scores(evaluations: Sequence[tuple[str, LabelScores]], *, json: bool = False) -> str:
    """Return accuracy and macro F1 of each system, its labels and its confusions."""
    texts = evaluations[0][1].texts
    is_ranked = all(one.ranks and len(one.labels) > MOST_COLUMNS for _, one in evaluations)
    systems = [
        System(
            name,
            scores=(
                MetricScore("accuracy", scores.accuracy),
                MetricScore("macro F1", scores.macro_f1),
                *(
                    MetricScore(metric, value)
                    for metric, value in (("hit@10", scores.hits(10)), ("MRR", scores.mrr))
                    if is_ranked
                ),
            ),
            facts=_record(scores),
        )
        for name, scores in evaluations
    ]
    if json:
        return scores_as_json({"texts": texts}, systems, "texts")
    tables = []
    for name, scores in evaluations:
        table = [["label", "precision", "recall", "F1", "texts"]]
        for counts in scores.labels:
            values = [f"{v:.2f}" for v in (counts.precision, counts.recall, counts.f1)]
            table.append([counts.label or "(none)", *values, f"{counts.gold:,}"])
        title = f"{name}\n" if len(evaluations) > 1 else ""
        tables += [title + columns(table), _confusions(scores)]
    return scores_as_text(f"{texts:,} texts", systems, "texts", tables)


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
    names = {"label": "label", "precision": "precision", "recall": "recall", "f1": "f1"}
    names["texts"] = "gold"
    labels = [
        {name: getattr(counts, field) for name, field in names.items()} for counts in scores.labels
    ]
    return {"labels": labels, "confusion": scores.confusion}
