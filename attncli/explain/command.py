"""``attn explain``: parse the options, run the job, write explanations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attncli.data.lines import input_chunks
from attncli.data.named_files import RECORDINGS, SUFFIXES
from attncli.data.streams import check_output, open_output
from attncli.explain._options import ALL, BRIEF, ExplainedOptions, chosen
from attncli.options import line_streams, shared
from attncli.options.fields import command
from models.core.errors import ModelError
from models.explain import METHODS
from models.storage.installed import default_model, find_model
from models.storage.settings import task_of

if TYPE_CHECKING:
    from attncli.explain.result import ExplainedLine

Format = Annotated[
    Literal["text", "jsonl"], typer.Option("--format", help="How to write explanations.")
]


@command
@dataclass(frozen=True)
class ExplainCommand(ExplainedOptions):
    """Explain an output by the input parts that it depends on.

    For each output word, a row of each method states how much each source word, image cell or
    stretch of sound counts: by attention and by erasure, or by the methods that --method names.
    Measures, and a sentence at the end, state how far each can be trusted. See docs/explain.md.

    Example:
      attn explain --to de "I see the red car."
      attn explain --to de --method all "I see the red car."
      echo "The car is red. ||| Das Auto ist rot." | attn explain --to de --format jsonl
      attn explain -m languages "Das Auto ist rot."
      attn explain photo.jpg --word 2 --picture maps.png
      attn explain -m runs/speech memo.wav
    """

    EXAMPLE = "picture.lines=1-20"
    texts: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Argument(
            metavar="INPUT",
            help="Text, `text ||| translation`, an image or a recording. Default: the lines of the "
            "input.",
        ),
    ] = ()
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            "-m",
            envvar=shared.MODEL,
            help="Translator, classifier or captioner: its name (`attn models` lists them) or its "
            "folder; without it, the model shipped for text, or for images.",
        ),
    ] = None
    to: shared.To = ""
    source: shared.From = ""
    method: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Option(
            "--method",
            help=f"Method, one of {', '.join(METHODS)}; repeatable; all: each that the model "
            f"supports. Default: {' and '.join(BRIEF)}, and all with --format jsonl.",
        ),
    ] = ()
    word: Annotated[
        int, typer.Option(min=0, help="Number of the only output word to explain, from 1 (0: all).")
    ] = 0
    input_file: line_streams.Input = None
    output_file: line_streams.Output = None
    format: Format = "text"
    show: shared.Show = False
    picture_file: shared.PictureFile = None

    def run(self) -> None:
        """Explain inputs, and write and draw what counts."""
        names = self.method or ([ALL] if self.format == "jsonl" else BRIEF)
        options = replace(self, methods=chosen(names))
        check_output(self.output_file, self.input_file)
        folder = find_model(self.model) if self.model else default_model(self._shipped())
        task = task_of(folder)
        is_image, picture = task == "caption", self.picture_file
        if task not in ("caption", "transcribe"):
            shared.check_texts(self.texts, "explain")
        line_streams.check_shown(self.show, self.format)
        # imports torch
        from attncli.explain.runner import ExplainRunner, file_lines
        from attncli.render.image_maps import WRITERS, writer_of

        if is_image and picture:
            writer_of(picture, WRITERS)
            check_output(picture)
        lines = self.picture.lines
        drawing = line_streams.check_drawing(None if is_image else picture, lines, drawn=False)
        shown = line_streams.Picture(drawing)
        with line_streams.open_source(self.texts, self.input_file) as stream:
            runner = ExplainRunner.open(folder, options)
            read = file_lines if runner.model.files else input_chunks
            complete = line_streams.write_lines(
                runner,
                stream,
                self.output_file,
                shown,
                remarks=self._draw,
                read=read,
                weights=True,
                show=False,
            )
            shown.draw()
        raise typer.Exit(not complete)

    def _shipped(self) -> str:
        """Return the task of the model in the box that suits the first input."""
        name = self.texts[0].lower() if self.texts else ""
        if name.endswith(SUFFIXES):
            return "caption"
        return "transcribe" if name.endswith(RECORDINGS.suffixes) else "translate"

    def _draw(self, results: list[ExplainedLine]) -> list[str]:
        """Write the maps of an image; there is nothing to remark."""
        from attncli.render.image_maps import WRITERS, writer_of

        picture = self.picture_file
        for maps in (one.maps for one in results):
            if maps and picture:
                if results[0].line.number > 1:
                    raise ModelError(f"--picture {picture} for several images", "one image")
                with open_output(picture) as write:
                    write(writer_of(picture, WRITERS)(maps))
        return []
