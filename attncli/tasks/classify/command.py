"""``attn classify``: parse the options, run the job, write the labels."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from attncli.data.lines import ClassifiedLine
from attncli.data.streams import Write, check_output, open_output
from attncli.data.typed import input_chunks
from attncli.data.weighted_text import weighted_text
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.jobs.text_arguments import check_texts
from attncli.options.line_streams import (
    ByteProgress,
    Input,
    Output,
    byte_progress,
    is_away,
    open_source,
    write_chunks,
)
from attncli.options.pictures import WEIGHTED_TEXTS, Picture, check_drawing
from attncli.options.settings import SetOption, read_settings
from attncli.options.shared import Device, Threads
from attncli.render.rows import RowFormat, RowLayout
from attncli.render.weighted_text.terminal import words_in_colour
from attncli.tasks.classify.lines import classify_lines
from attncli.tasks.classify.settings import ClassifyTables
from attncli.tasks.classify.writers import rendered
from attncli.terminal import console
from attncli.terminal.screen import Screen, current_screen

Text = Annotated[
    list[str] | None, typer.Argument(help="Text to classify. Default: the lines of the input.")
]
Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        help="Classifier: its name (`attn models` lists them) or the folder of a run or bundle; "
        "without it, the model shipped for this command. Given again: an ensemble, which averages "
        "the probabilities of the models; their labels must be the same.",
    ),
]
Nbest = Annotated[int, typer.Option("--nbest", "-n", min=1, help="Labels per line.")]
Scores = Annotated[bool, typer.Option("--scores", help="Put the probability before the label.")]
Show = Annotated[bool, typer.Option("--show", help="Write each line with its words coloured.")]
PictureFile = Annotated[
    Path | None,
    typer.Option(help="Draw the words on the colour of their weight: .svg, .png, .pdf, .html."),
]
Set = Annotated[list[str] | None, SetOption(ClassifyTables, example="picture.lines=1-20")]


def classify(
    text: Text = None,
    *,
    model: Models = None,
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
    check_output(output)
    check_texts(text or [], "classify")
    tables = read_settings(ClassifyTables, set).tables
    drawing = check_drawing(picture, tables.picture.lines, drawn=show)
    read_mode = tables.attention.read_decode
    options = OpenOptions(device, threads, read_mode, messages=console)
    with open_source(text, input) as stream:
        classifier = loading.open_classifier(model, options)
        typed = stream.isatty()
        outcomes = classify_lines(
            input_chunks(stream),
            classifier,
            nbest=nbest,
            attention=show or picture is not None or format == "jsonl",
            max_batch_tokens=tables.compute.batch_tokens,
        )
        screen = current_screen() if show else None
        words = Picture(drawing, WEIGHTED_TEXTS)
        shown = Shown(RowLayout(format, nbest > 1, scores), words, screen)
        with (
            open_output(output) as write,
            byte_progress("classifying", stream, shown=is_away(output) and not typed) as progress,
        ):
            refused = _write_all(outcomes, shown, write, progress)
        shown.picture.draw()
    if refused:
        raise typer.Exit(1)


class Shown(NamedTuple):
    """Layout of the lines, and the pictures drawn of them."""

    layout: RowLayout
    picture: Picture
    screen: Screen | None  # for coloured words among the lines


def _rows(outcomes: list[ClassifiedLine], shown: Shown) -> bytes:
    """Return the rows of some lines; each is followed by its coloured words if they are shown."""
    if shown.screen is None:
        return rendered(outcomes, shown.layout)
    rows = b""
    for outcome in outcomes:
        rows += rendered([outcome], shown.layout)
        text = weighted_text(outcome)
        if shown.picture.drawing.wants(text):
            rows += words_in_colour(text, shown.screen).encode()
    return rows


def _write_all(
    results: Iterable[list[ClassifiedLine]],
    shown: Shown,
    write: Write,
    progress: ByteProgress,
) -> int:
    """Write and report lines as they finish; return the number of refused lines."""
    refused = 0
    for outcomes in write_chunks(results, partial(_rows, shown=shown), write, progress):
        if shown.picture.drawing.path:
            shown.picture.take(map(weighted_text, outcomes))
        refused += sum(outcome.result is None for outcome in outcomes)
    return refused
