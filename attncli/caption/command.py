"""``attn caption``: parse the options, run the job, write the captions."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from attncli.caption.outputs import CaptionStatistics, Sidecars, frame, open_attention
from attncli.caption.runner import CaptionedImage, CaptionOptions, CaptionRunner
from attncli.data import named_files as named
from attncli.data.streams import check_output, open_input
from attncli.options import line_streams
from attncli.options.settings import SetOption
from attncli.options.shared import (
    Device,
    Nbest,
    OneModel,
    Prefix,
    Scores,
    Show,
    Threads,
    look_option,
)
from attncli.terminal import console
from models.core.errors import ConfigurationError

Images = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="IMAGE",
        help="Files, TAR files, folders (with -r) or patterns; - reads one image from standard "
        "input. Default: paths on standard input, one per line.",
    ),
]
Recursive = Annotated[
    bool, typer.Option("--recursive", "-r", help="Caption the images in folders.")
]
Sidecar = Annotated[
    bool, typer.Option("--sidecar", help="Also write photo.txt beside each photo.jpg.")
]
PictureFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Draw the attention of each word: a .png, .svg, .pdf, .html or .npz file. For "
        "several images: a folder/, a name that contains {name}, or one .html file for all.",
    ),
]
Format = Annotated[
    Literal["text", "tsv", "jsonl", "html"], typer.Option(help="How to write the captions.")
]
Looks = Annotated[list[str] | None, look_option("left,top,right,bottom, such as 50%,0,100%,100%")]
Set = Annotated[list[str] | None, SetOption(CaptionOptions, example="search.max_caption=30")]


def caption(
    images: Images = None,
    *,
    model: OneModel = None,
    recursive: Recursive = False,
    output: line_streams.Output = None,
    format: Format = "text",
    with_scores: Scores = False,
    nbest: Nbest = None,
    sidecar: Sidecar = False,
    prefix: Prefix = "",
    look: Looks = None,
    show: Show = False,
    picture: PictureFile = None,
    device: Device = "auto",
    threads: Threads = 0,
    set: Set = None,
) -> None:
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
    options = CaptionOptions.of_command(locals(), look=tuple(look or ()), messages=console)
    names = images or []
    _check(names, options, format, sidecar=sidecar, show=show)
    alone = named.is_alone(names)
    named.check_image(names, recursive=recursive)
    check_output(output)
    with open_attention(picture, alone=alone) as draw:
        runner = CaptionRunner.open(model, replace(options, alone=alone))
        weights = bool(picture) or show or format == "html"
        chosen = options.attention.read_decode
        if weights and not chosen and runner.model.read_mode == "hard expected":
            if show or format == "html" or Path(str(picture)).suffix.lower() != ".npz":
                console.say("maps drawn by argmax (-s attention.read_decode=expected: as read)")
            else:
                console.say(f"{picture} has the weights of the expectation, as read")
        sidecars = Sidecars(overwrite=options.output.overwrite) if sidecar else None
        statistics = CaptionStatistics()

        def take(results: list[CaptionedImage]) -> list[str]:
            draw(results)
            statistics.count(results)
            return [*sidecars.write(results)] if sidecars else []

        counting = names and not alone and line_streams.is_away(output)
        complete = line_streams.write_files(
            runner,
            _groups(names, recursive),
            output,
            weights=weights,
            show=show,
            take=take,
            frame=frame(format),
            total=named.count_images(names, recursive=recursive) if counting else None,
        )
    existing = sidecars.notes() if sidecars else []
    for note in [*existing, *statistics.notes()]:
        console.warn(note)
    raise typer.Exit(not complete or bool(existing))


def _check(
    names: Sequence[str],
    options: CaptionOptions,
    format: str,
    *,
    sidecar: bool,
    show: bool,
) -> None:
    if not names and (sys.stdin is None or sys.stdin.isatty()):
        raise typer.BadParameter("none given, and no list of them", param_hint="'IMAGE...'")
    line_streams.check_shown(show, format)
    if sidecar and any(name == named.STDIN or named.is_archive(name) for name in names):
        raise typer.BadParameter(
            "images of standard input and of TAR files have no place for text",
            param_hint="'--sidecar'",
        )
    if options.output.overwrite and not sidecar:
        raise ConfigurationError("output.overwrite without --sidecar", "--sidecar")


def _groups(names: Sequence[str], recursive: bool) -> Iterator[list[named.NamedFile]]:
    if names:
        yield from named.named_images(names, recursive=recursive)
    else:
        with open_input(None) as stream:
            yield from named.listed_images(stream)
