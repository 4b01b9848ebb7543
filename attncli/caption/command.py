"""``attn caption``: parse the options, run the job, write the captions."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from attncli.caption._outputs import CaptionStatistics, Sidecars, frame, open_attention
from attncli.caption.runner import CaptionedImage, CaptionOptions, CaptionRunner
from attncli.data import named_files as named
from attncli.data.streams import check_output, open_input
from attncli.options import line_streams
from attncli.options.fields import command
from attncli.options.shared import (
    Nbest,
    OneModel,
    Prefix,
    Scores,
    Show,
    look_option,
)
from attncli.terminal import console
from models.core.errors import ConfigurationError

PictureFile = Annotated[
    str | None,
    typer.Option(
        "--picture",
        metavar="FILE",
        help="Draw the attention of each word: a .png, .svg, .pdf, .html or .npz file. For "
        "several images: a folder/, a name that contains {name}, or one .html file for all.",
    ),
]
Format = Annotated[
    Literal["text", "tsv", "jsonl", "html"], typer.Option(help="How to write the captions.")
]


@command
@dataclass(frozen=True)
class CaptionCommand(CaptionOptions):
    """Write captions of images.

    The output for one image is its caption; for several, "image <TAB> caption", in order. An image
    that cannot be read is reported on stderr; its row has no caption, and the exit status is 1.
    Search settings default to those saved with the model. The captioner in the box is for research
    alone; BLIP may be used for anything (`attn models add Salesforce/blip-image-captioning-base`).
    See docs/caption.md.

    Example:
      attn caption -m runs/cap photo.jpg
      attn caption -m runs/cap -r photos -o captions.tsv
      attn caption -m runs/cap --picture maps.html photos/*.jpg
      find . -name '*.png' | attn caption -m runs/cap --sidecar
    """

    EXAMPLE = "search.max_caption=30"
    images: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Argument(
            metavar="IMAGE",
            help="Files, TAR files, folders (with -r) or patterns; - reads one image from standard "
            "input. Default: paths on standard input, one per line.",
        ),
    ] = ()
    model: OneModel = None
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Caption the images in folders.")
    ] = False
    output_file: line_streams.Output = None
    format: Format = "text"
    with_scores: Scores = False
    nbest: Nbest = None
    sidecar: Annotated[
        bool, typer.Option("--sidecar", help="Also write photo.txt beside each photo.jpg.")
    ] = False
    prefix: Prefix = ""
    look: Annotated[
        tuple[str, ...],
        list[str] | None,
        look_option("left,top,right,bottom, such as 50%,0,100%,100%"),
    ] = ()
    show: Show = False
    picture_file: PictureFile = None

    def run(self) -> None:
        """Caption images, and write captions, sidecars and pictures."""
        self._check()
        names, recursive = self.images, self.recursive
        alone = named.is_alone(names)
        named.check_image(names, recursive=recursive)
        check_output(self.output_file)
        statistics = CaptionStatistics()
        sidecars = Sidecars(overwrite=self.output.overwrite) if self.sidecar else None
        with open_attention(self.picture_file, alone=alone) as draw:
            runner = CaptionRunner.open(self.model, replace(self, alone=alone))

            def take(results: list[CaptionedImage]) -> list[str]:
                draw(results)
                statistics.count(results)
                return [*sidecars.write(results)] if sidecars else []

            counting = names and not alone and line_streams.is_away(self.output_file)
            complete = line_streams.write_files(
                runner,
                _groups(names, recursive),
                self.output_file,
                weights=self._has_weights(runner),
                show=self.show,
                take=take,
                frame=frame(self.format),
                total=named.count_images(names, recursive=recursive) if counting else None,
            )
        existing = sidecars.notes() if sidecars else []
        for note in [*existing, *statistics.notes()]:
            console.warn(note)
        raise typer.Exit(not complete or bool(existing))

    def _has_weights(self, runner: CaptionRunner) -> bool:
        """Return True if weights are drawn; say which, where they are not those that were read."""
        picture, drawn = self.picture_file, self.show or self.format == "html"
        weights = bool(picture) or drawn
        if weights and not self.attention.read_decode and runner.model.read_mode == "hard expected":
            if drawn or Path(str(picture)).suffix.lower() != ".npz":
                console.say("maps drawn by argmax (-s attention.read_decode=expected: as read)")
            else:
                console.say(f"{picture} has the weights of the expectation, as read")
        return weights

    def _check(self) -> None:
        names = self.images
        if not names and (sys.stdin is None or sys.stdin.isatty()):
            raise typer.BadParameter("none given, and no list of them", param_hint="'IMAGE...'")
        line_streams.check_shown(self.show, self.format)
        if self.sidecar and any(name == named.STDIN or named.is_archive(name) for name in names):
            raise typer.BadParameter(
                "images of standard input and of TAR files have no place for text",
                param_hint="'--sidecar'",
            )
        if self.output.overwrite and not self.sidecar:
            raise ConfigurationError("output.overwrite without --sidecar", "--sidecar")


def _groups(names: Sequence[str], recursive: bool) -> Iterator[list[named.NamedFile]]:
    if names:
        yield from named.named_images(names, recursive=recursive)
    else:
        with open_input(None) as stream:
            yield from named.listed_images(stream)
