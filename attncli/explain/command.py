"""``attn explain``: parse the options, run the job, write explanations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import typer

from attncli.data.named_files import RECORDINGS, SUFFIXES, FileKind, listed_images, named_images
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
    from attncli.explain.runner import ExplainRunner

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
            help="Text, `text ||| translation`, an image or a recording, or folders, TAR files and "
            "patterns of them. Default: the lines of the input.",
        ),
    ] = ()
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            "-m",
            envvar=shared.MODEL,
            help="Translator, classifier, captioner or model of speech: its name (`attn models` "
            "lists them) or its folder; without it, the model shipped for the first input.",
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
        from attncli.explain.runner import ExplainRunner
        from attncli.render.image_maps import WRITERS, writer_of

        if is_image and picture:
            writer_of(picture, WRITERS)
            check_output(picture)
        lines = self.picture.lines
        drawing = line_streams.check_drawing(None if is_image else picture, lines, drawn=False)
        shown = line_streams.Picture(drawing)
        reads_files = task in ("caption", "transcribe") and not self.input_file
        given = () if reads_files else self.texts  # names of files are read below
        with line_streams.open_source(given, self.input_file) as stream:
            runner = ExplainRunner.open(folder, options)
            complete = self._written(runner, stream, shown)
            shown.draw()
        raise typer.Exit(not complete)

    def _shipped(self) -> str:
        """Return the task of the model in the box that suits the first input."""
        name = self.texts[0].lower() if self.texts else ""
        if name.endswith(SUFFIXES):
            return "caption"
        return "transcribe" if name.endswith(RECORDINGS.suffixes) else "translate"

    def _written(
        self, runner: ExplainRunner, stream: BinaryIO, shown: line_streams.Picture
    ) -> bool:
        """Write the explanations of lines or of files; return True if all have one."""
        kind: FileKind | None = runner.model.files
        if not kind:
            return line_streams.write_lines(
                runner, stream, self.output_file, shown, weights=True, show=False
            )
        named = named_images(self.texts, recursive=True, kind=kind)
        return line_streams.write_files(
            runner,
            named if self.texts else listed_images(stream),
            self.output_file,
            weights=True,
            show=False,
            take=lambda results: self._take(results, runner, shown),
        )

    def _take(
        self, results: list[ExplainedLine], runner: ExplainRunner, shown: line_streams.Picture
    ) -> list[str]:
        """Write the maps of an image, or keep what is drawn of a recording; there are no faults."""
        from attncli.render.image_maps import WRITERS, writer_of

        picture = self.picture_file
        for one in results:
            if not picture:
                break
            if one.maps is None:
                shown.take(runner.drawn(one))
                continue
            if one.line.number > 1:
                raise ModelError(f"--picture {picture} for several images", "one image")
            with open_output(picture) as write:
                write(writer_of(picture, WRITERS)(one.maps))
        return []
