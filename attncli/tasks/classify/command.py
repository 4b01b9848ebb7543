"""``attn classify``: parse the options, run the job, write the labels."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from attncli.bulk.job import BulkJob, BulkTask
from attncli.data.lines import ClassifiedLine, Line
from attncli.data.streams import check_output
from attncli.options.line_streams import (
    WEIGHTED_TEXTS,
    Input,
    LineWriter,
    Output,
    Picture,
    check_drawing,
    check_shown,
    open_source,
    write_lines,
)
from attncli.options.settings import SetOption
from attncli.options.shared import Device, Threads, check_texts
from attncli.render.alignment.weighted_text import weighted_text, words_in_colour
from attncli.render.rows import RowFormat, RowLayout
from attncli.tasks.classify.lines import ClassifyOptions, ClassifyRunner, rendered
from attncli.terminal import console
from attncli.terminal.messages import current_screen

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
    input: Input = None,
    output: Output = None,
    format: Annotated[RowFormat, typer.Option(help="How to write the labels.")] = "text",
    nbest: Nbest = 1,
    scores: Scores = False,
    show: Show = False,
    picture: PictureFile = None,
    device: Device = "auto",
    threads: Threads = 0,
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
    check_texts(text or [], "classify")
    drawing = check_drawing(picture, options.picture.lines, drawn=show)
    check_shown(show, format)
    with open_source(text, input) as stream:
        runner = ClassifyRunner.open(model, options)
        weights = show or picture is not None or format == "jsonl"
        writer = LineWriter(
            partial(rendered, layout=RowLayout(format, nbest > 1, scores)),
            Picture(drawing, WEIGHTED_TEXTS),
            lambda outcome: [weighted_text(outcome)],
            words_in_colour,
            current_screen() if show else None,
        )
        complete = write_lines(
            "classifying",
            stream,
            output,
            lambda chunks, on_batch: runner.run(chunks, weights=weights),
            writer,
        )
        writer.picture.draw()
    raise typer.Exit(not complete)


class ClassifyTask(BulkTask):
    """Classifiers of the lines of a bulk job."""

    doing, shipped, into = "classifying", "classify", "label"
    options, unused = ClassifyOptions, "picture"

    def __init__(self, job: BulkJob) -> None:
        options, format = self.read(job), job.settings["format"]
        runner = ClassifyRunner.open(Path(job.models[0]), options)
        layout = RowLayout(format, options.nbest > 1, job.settings["scores"])
        self.run = lambda lines: next(runner.run([list(lines)], weights=format == "jsonl"))
        self.row = lambda outcome: rendered([outcome], layout)

    def failed(self, record: Line, error: str) -> ClassifiedLine:
        """Return a line without labels."""
        return ClassifiedLine(record, None, error)

    def value(self, result: ClassifiedLine) -> tuple[str | None, ...]:
        """Return the best label; it is empty for an empty line."""
        labels = result.result and [each.label for each in result.result.labels]
        return None if labels is None else next(iter(labels), ""), result.note
