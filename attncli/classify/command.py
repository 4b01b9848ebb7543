"""``attn classify``: parse the options, run the job, write the labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.classify.runner import ClassifyOptions, ClassifyRunner
from attncli.data.streams import check_output
from attncli.options import line_streams, shared
from attncli.options.settings import SetOption
from attncli.terminal import console

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
Set = Annotated[list[str] | None, SetOption(ClassifyOptions, example="picture.lines=1-20")]


def classify(
    text: Text = None,
    *,
    model: Model = None,
    input: line_streams.Input = None,
    output: line_streams.Output = None,
    format: shared.Format = "text",
    nbest: Nbest = 1,
    with_scores: shared.Scores = False,
    show: shared.Show = False,
    picture: shared.PictureFile = None,
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
