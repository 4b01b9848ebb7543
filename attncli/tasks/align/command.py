"""``attn align``: options; the work is in run.py."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from attncli.data.streams import check_inputs, check_output
from attncli.jobs.loading import OpenOptions
from attncli.options.line_streams import Output
from attncli.options.pictures import check_drawing
from attncli.options.settings import GivenSettings, SetOption, read_settings
from attncli.options.shared import (
    MODEL,
    Device,
    From,
    HardAttention,
    PictureSettings,
    TextBatches,
    Threads,
    To,
)
from attncli.render.alignment.writers import FORMATS, FormatName, Style, format_of
from attncli.tasks.align.pairs import align_side_by_side
from attncli.tasks.align.run import (
    ChosenModels,
    Out,
    pair_source,
    with_external_alignments,
    write_all,
)
from attncli.terminal import console
from attncli.terminal.screen import current_screen
from models.base.errors import ConfigurationError, ModelError
from models.base.settings import option
from models.config import AlignConfig


@dataclass(frozen=True)
class LinkSettings:
    """Writing of links."""

    probabilities: bool = option(False, "write the weight of each link: 0-0:0.93")


@dataclass(frozen=True)
class AlignTables:
    """Tables of `attn align`. Defaults of the alignment are those saved with the model."""

    align: AlignConfig = option(AlignConfig, "alignment; the model has its own defaults")
    links: LinkSettings = option(LinkSettings, "links")
    picture: PictureSettings = option(PictureSettings, "--show and --picture")
    attention: HardAttention = option(HardAttention, "attention")
    compute: TextBatches = option(TextBatches, "computation")


Files = Annotated[
    list[Path] | None,
    typer.Argument(help="Source and target, or one file of both; without files, standard input."),
]
Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        envvar=MODEL,
        help="Model: its name (`attn models` lists them) or the folder of a run or bundle; without "
        "it, the model shipped for text. Not needed with --hypotheses. Given again: the heat maps "
        "of the models are drawn side by side.",
    ),
]
ReverseModel = Annotated[
    Path | None,
    typer.Option(help="A model from target to source; the links of both are symmetrised."),
]
FormatOption = Annotated[
    FormatName | None,
    typer.Option(
        "--format", help="Output format. Default: by the file name of -o, otherwise pharaoh."
    ),
]
Show = Annotated[bool, typer.Option("--show", help="Draw heat maps in the terminal.")]
PictureFile = Annotated[
    Path | None,
    typer.Option(help="Also draw heat maps into a file: .svg, .png, .pdf or .html."),
]
Hypotheses = Annotated[
    list[Path] | None,
    typer.Option(
        help="Links of another program, drawn next to the model's or alone: Pharaoh, talp, NAACL "
        "or Marian's. May be repeated.",
    ),
]
Set = Annotated[list[str] | None, SetOption(AlignTables, example="align.units=char")]


def align(
    files: Files = None,
    *,
    model: Models = None,
    reverse_model: ReverseModel = None,
    to: To = "",
    source: From = "",
    hypotheses: Hypotheses = None,
    format: FormatOption = None,
    output: Output = None,
    show: Show = False,
    picture: PictureFile = None,
    device: Device = "auto",
    threads: Threads = 0,
    set: Set = None,
) -> None:
    """Align the words of sentences and their translations.

    Each pair gives one line of links, in order. Pairs are lines of two files, or lines with a tab
    or ` ||| ` between source and target. Words are separated by spaces; for text without spaces,
    use `-s align.units=char`. See docs/align.md.

    Example:
      attn align -m runs/en-de test.en test.de > links
      attn align -m runs/en-de --reverse-model runs/de-en < pairs.tsv
      echo "A dog runs. ||| Ein Hund rennt." | attn align -m runs/en-de --show
      attn align -m runs/en-de -m runs/rnn --show test.en test.de
      attn align -m runs/en-de --hypotheses fast_align.links --picture both.html test.en test.de
    """
    given = align_settings(set, reverse=reverse_model is not None)
    tables = given.tables
    name = format or (format_of(output) if output else "pharaoh")
    drawing = check_drawing(picture, tables.picture.lines, drawn=show)
    models = model or []
    _check(files or [], models, reverse_model, hypotheses or [], given.of("align"))
    check_inputs(files or [])
    check_output(output, *(files or []))
    if len(models) > 1 and not (show or picture or FORMATS[name].picture):
        raise typer.BadParameter("several models need --show or --picture", param_hint="'--model'")
    chosen = ChosenModels(
        models,
        reverse_model,
        given.of("align"),
        tables.compute.batch_tokens,
        align_options(tables, source, to=to, device=device, threads=threads),
        heads=FORMATS[name].heads or drawing.heads,
        scored=FORMATS[name].scores or drawing.heads,
    )
    with pair_source(files or []) as chunks:
        if hypotheses:
            aligned = with_external_alignments(chunks, chosen, hypotheses)
        else:
            aligned = align_side_by_side(chunks, chosen.load())
        style = Style(tables.links.probabilities, current_screen())
        out = Out(None if show and output is None else name, output, show, style, drawing, console)
        refused = write_all(aligned, out)
    if refused:
        raise typer.Exit(1)


def _check(
    files: list[Path],
    models: list[Path],
    reverse: Path | None,
    external: list[Path],
    settings: Mapping[str, object],
) -> None:
    """Refuse options that conflict or would have no effect, and texts in place of files."""
    if typed := [str(file) for file in files if "|||" in str(file) and not file.exists()]:
        raise ModelError(
            f"{typed[0]!r}: sentences, where files are expected",
            "files of sentence pairs, or sentences on standard input",
            f"echo {shlex.quote(typed[0])} | attn align",
        )
    if len(files) > 2:
        raise typer.BadParameter("source and target, or one file of both", param_hint="'FILES'")
    if len(models) > 1 and reverse:
        raise typer.BadParameter("with a single --model", param_hint="'--reverse-model'")
    if not models and external and (reverse or settings):
        found = "--reverse-model" if reverse else f"align.{next(iter(settings))}"
        raise ConfigurationError(f"{found} without a model", "--model")
    if external and settings.get("units", "word") != "word":
        raise ConfigurationError("align.units with --hypotheses, which are links of words", "word")


def align_settings(
    assignments: Sequence[str] | None, *, reverse: bool
) -> GivenSettings[AlignTables]:
    """Return the settings of `attn align`. reverse: True if there is a reverse model."""
    given = read_settings(AlignTables, assignments)
    if "align.symmetrise" in given.names and not reverse:
        raise ConfigurationError("align.symmetrise without a reverse model", "--reverse-model")
    return given


def align_options(
    tables: AlignTables, source: str, *, to: str, device: str, threads: int
) -> OpenOptions:
    """Return how the models are opened. source, to: languages, or empty."""
    read_mode = tables.attention.read_decode
    return OpenOptions(device, threads, read_mode, to=to, source=source, messages=console)
