"""``attn classify``: parse the options, run the job, write the labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from attncli.classify.runner import ClassifyOptions, ClassifyRunner
from attncli.data.streams import check_output
from attncli.options import line_streams, shared
from attncli.options.fields import command


@command
@dataclass(frozen=True)
class ClassifyCommand(ClassifyOptions):
    """Classify text: one line in, one label out, in order.

    Lines come from the arguments, a file or standard input. A line that is not valid text gives an
    empty line and a message, and exit status 1 at the end. With --show and --picture, each word has
    the colour of its weight in the pooling. See docs/classify.md.

    Example:
      attn classify -m runs/intents "play some jazz"
      attn classify -m runs/intents --nbest 3 --format jsonl < lines.txt
      attn classify -m runs/intents --show --picture words.svg < lines.txt
    """

    EXAMPLE = "picture.lines=1-20"
    text: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Argument(help="Text to classify. Default: the lines of the input."),
    ] = ()
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            "-m",
            help="Classifier: its name (`attn models` lists them) or the folder of a run or "
            "bundle; without it, the model shipped for this command.",
        ),
    ] = None
    input_file: line_streams.Input = None
    output_file: line_streams.Output = None
    format: shared.Format = "text"
    with_scores: shared.Scores = False
    show: shared.Show = False
    picture_file: shared.PictureFile = None

    def run(self) -> None:
        """Classify lines, write the labels and draw the words."""
        show, picture, output = self.show, self.picture_file, self.output_file
        check_output(output, self.input_file)
        shared.check_texts(self.text, "classify")
        drawing = line_streams.check_drawing(picture, self.picture.lines, drawn=show)
        line_streams.check_shown(show, self.format)
        with line_streams.open_source(self.text, self.input_file) as stream:
            runner = ClassifyRunner.open(self.model, self)
            weights = show or picture is not None or self.format == "jsonl"
            words = line_streams.Picture(drawing, line_streams.WEIGHTED_TEXTS)
            complete = line_streams.write_lines(
                runner, stream, output, words, weights=weights, show=show
            )
            words.draw()
        raise typer.Exit(not complete)
