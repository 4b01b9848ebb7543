"""``attn caption``: parse the options, run the job, write the captions."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Annotated, NamedTuple

import typer

from attncli.data.images.named import (
    STDIN,
    ImageFile,
    check_image,
    count_images,
    is_alone,
    is_archive,
    listed_images,
    named_images,
)
from attncli.data.streams import Write, check_output, open_input, open_output
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.options.line_streams import Output, is_away
from attncli.options.overrides import SearchOverrides
from attncli.options.shared import (
    Device,
    HardDecode,
    Models,
    Threads,
    check_search,
    with_settings,
)
from attncli.tasks.caption.files import Draw, Sidecars, open_attention
from attncli.tasks.caption.images import CaptionStatistics, caption_images
from attncli.tasks.caption.writers import (
    CaptionedImage,
    CaptionLayout,
    Format,
    closing,
    opening,
    rendered,
)
from attncli.terminal import console
from attncli.terminal.plurals import counted
from attncli.terminal.screen import current_screen
from models.config.tables import BATCH_IMAGES

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
Scores = Annotated[bool, typer.Option("--scores", help="Put each score before its caption.")]
Sidecar = Annotated[
    bool, typer.Option("--sidecar", help="Also write photo.txt beside each photo.jpg.")
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Let --sidecar replace existing files.")
]
Attention = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write the attention map of each word: a .png, .gif, .html or .npz file. For several "
        "images: a folder/, a name that contains {name}, or one .html file for all.",
    ),
]
Show = Annotated[bool, typer.Option("--show", help="Draw the attention maps in the terminal.")]
Batch = Annotated[int, typer.Option(min=1, help="Images per batch.")]


@with_settings("max_ratio", "max_extra", "split_above", "shortlist")
def caption(
    images: Images = None,
    *,
    model: Models = None,
    recursive: Recursive = False,
    output: Output = None,
    format: Annotated[Format, typer.Option(help="How to write the captions.")] = "text",
    scores: Scores = False,
    sidecar: Sidecar = False,
    overwrite: Overwrite = False,
    attention: Attention = None,
    show: Show = False,
    overrides: SearchOverrides,
    hard_decode: HardDecode = None,
    batch: Batch = BATCH_IMAGES,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Write captions of images.

    Images are JPEG, PNG, WebP, GIF, BMP or TIFF files, or HEIC with the extra attn[heic]. A TAR
    file stands for the images in it, and FILE.tar/NAME for one of them; nothing is unpacked.
    The output for one image is its caption; for several, "image <TAB> caption", in order. An
    image that cannot be read is reported on stderr; its row has no caption, and the exit status
    is 1. Search settings default to those saved with the model; options given here override them.

    With --nbest above 1 each caption has a row that begins with its score. TSV is image, caption
    and score. JSON lines hold image, caption and, for each output, text, score, log_prob, tokens
    and truncated (cut at the length limit). HTML is one page with the images: point at a word to
    see its attention map.

    Several -m are an ensemble: the mean of their probabilities is searched. Attention maps are
    those of the first model; with --views above 1, those of the whole image alone.

    Example:
      attn caption -m runs/cap photo.jpg
      attn caption -m runs/cap -r photos -o captions.tsv
      attn caption -m runs/cap --attention maps.html photos/*.jpg
      find . -name '*.png' | attn caption -m runs/cap --sidecar
    """
    names = images or []
    _check(names, overrides, format, sidecar=sidecar, overwrite=overwrite, show=show)
    alone = is_alone(names)
    check_output(output)
    if alone:
        check_image(names[0])
    with open_attention(attention, alone=alone) as draw:
        options = OpenOptions(device, threads, hard_decode, overrides)
        captioner = loading.open_captioners(model, options)
        layout = CaptionLayout(
            format, alone, captioner.search.nbest > 1, scores, captioner.read_mode
        )
        results = caption_images(
            _groups(names, recursive),
            captioner,
            search=captioner.search,
            attention=bool(attention) or show or format == "html",
            batch=batch,
        )
        with (
            open_output(output) as write,
            _progress(names, recursive, shown=not alone and is_away(output)) as advance,
        ):
            to = Sinks(write, draw, show, Sidecars(overwrite=overwrite) if sidecar else None)
            failed = _write_all(results, layout, to, advance)
    if failed:
        raise typer.Exit(1)


class Sinks(NamedTuple):
    """Destinations of the captions."""

    write: Write
    draw: Draw
    show: bool
    sidecars: Sidecars | None


def _check(
    names: Sequence[str],
    overrides: SearchOverrides,
    format: Format,
    *,
    sidecar: bool,
    overwrite: bool,
    show: bool,
) -> None:
    check_search(overrides)
    if not names and (sys.stdin is None or sys.stdin.isatty()):
        raise typer.BadParameter("none given, and no list of them", param_hint="'IMAGE...'")
    if show and format != "text":
        raise typer.BadParameter(f"maps among {format}", param_hint="'--show'")
    if sidecar and STDIN in names:
        raise typer.BadParameter("standard input has no file beside it", param_hint="'--sidecar'")
    if sidecar and any(map(is_archive, names)):
        raise typer.BadParameter(
            "a TAR file has no file beside its images", param_hint="'--sidecar'"
        )
    if overwrite and not sidecar:
        raise typer.BadParameter("needs --sidecar", param_hint="'--overwrite'")


def _groups(names: Sequence[str], recursive: bool) -> Iterator[list[ImageFile]]:
    if names:
        yield from named_images(names, recursive=recursive)
    else:
        with open_input(None) as stream:
            yield from listed_images(stream)


def _write_all(
    results: Iterator[list[CaptionedImage]],
    layout: CaptionLayout,
    to: Sinks,
    advance: console.ShowProgress,
) -> int:
    """Write and report captions as they finish; return the number of faults."""
    count = failed = 0
    statistics = CaptionStatistics()
    to.write(opening(layout))
    for outcomes in results:
        to.write(rendered(outcomes, layout) if not to.show else _shown(outcomes, layout))
        to.draw(outcomes)
        notes = [outcome.note for outcome in outcomes if outcome.note]
        if to.sidecars:
            notes += to.sidecars.write(outcomes)
        for note in notes:
            console.warn(note)
        statistics.count(outcomes)
        count, failed = count + len(outcomes), failed + len(notes)
        advance(count, counted(count, "image"))
    to.write(closing(layout))
    existing = to.sidecars.notes() if to.sidecars else []
    for note in [*existing, *statistics.notes()]:
        console.warn(note)
    return failed + len(existing)


def _shown(outcomes: list[CaptionedImage], layout: CaptionLayout) -> bytes:
    """Return the rows, each followed by its attention maps."""
    from attncli.render.image_attention.terminal import maps_as_text

    screen = current_screen()
    parts = []
    for outcome in outcomes:
        parts.append(rendered([outcome], layout))
        if outcome.attention:
            parts.append(maps_as_text(outcome.attention, screen).encode("utf-8", "replace"))
    return b"".join(parts)


def _progress(
    names: Sequence[str], recursive: bool, *, shown: bool
) -> AbstractContextManager[console.ShowProgress]:
    """Show the number of captioned images if the results are not on the terminal."""
    total = count_images(names, recursive=recursive) if names and shown else None
    return console.progress("captioning", total=total, shown=shown)
