"""``attn align``: options; the work is in align_run.py."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from attncli.data.alignments.links import Index
from attncli.data.streams import check_inputs, check_output
from attncli.jobs.loading import OpenOptions
from attncli.options.line_streams import Output
from attncli.options.overrides import AlignOverrides
from attncli.options.pictures import check_drawing
from attncli.options.shared import (
    MODEL,
    BatchTokens,
    Device,
    From,
    HardDecode,
    Threads,
    To,
    with_settings,
)
from attncli.render.alignment.writers import FORMATS, FormatName, Style, format_of
from attncli.tasks.align.pairs import (
    align_side_by_side,
)
from attncli.tasks.align.run import (
    ChosenModels,
    ExternalInput,
    Out,
    pair_source,
    with_external_alignments,
    write_all,
)
from attncli.terminal.screen import current_screen
from models.base.errors import ModelError
from models.config.tables import MAX_BATCH_TOKENS

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
        "it, the model shipped for text. Not needed with --view. Given again: the heat maps of the "
        "models are drawn side by side.",
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
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Write each link's weight: 0-0:0.93.")
]
Show = Annotated[bool, typer.Option("--show", help="Draw heat maps in the terminal.")]
PictureFile = Annotated[
    Path | None,
    typer.Option(help="Also draw heat maps into a file: .svg, .png, .pdf or .html."),
]
Chosen = Annotated[
    str | None,
    typer.Option("--pairs", metavar="1-20,35", help="Pairs to draw (default: the first)."),
]
ExternalFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--view",
        help="Alignments of another program, drawn next to the model's or alone: Pharaoh, "
        "talp, NAACL, Marian's, fairseq's or JSON lines of attn. May be repeated.",
    ),
]
ViewIndex = Annotated[
    Index | None,
    typer.Option(help="Index of the first word in --view, if the file does not show it."),
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out links of --view to words that do not exist.")
]


@with_settings()
def align(
    files: Files = None,
    *,
    model: Models = None,
    reverse_model: ReverseModel = None,
    to: To = "",
    source: From = "",
    overrides: AlignOverrides,
    format: FormatOption = None,
    probabilities: Probabilities = False,
    output: Output = None,
    show: Show = False,
    picture: PictureFile = None,
    pairs: Chosen = None,
    view: ExternalFiles = None,
    index: ViewIndex = None,
    skip_bad: SkipBad = False,
    hard_decode: HardDecode = None,
    max_batch_tokens: BatchTokens = MAX_BATCH_TOKENS,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Align the words of sentences and their translations.

    Each pair gives one line of links, in order. The links come from the attention weights of the
    model under teacher forcing. The settings of this step are stored in the model (`attn align
    tune` chooses them); options given here override them. Pairs are lines of two files, or lines
    with a tab or ` ||| ` between source and target. An empty pair gives an empty line.
    A multilingual model needs --to, the language of the target; with --reverse-model also --from.

    Several -m need --show, --picture or a picture as format, which draw them side by side. Links
    that are written as text are those of the first model.

    Words are separated by spaces. For text without spaces, use `--units char`, or add spaces.

    Example:
      attn align -m runs/en-de test.en test.de > links
      attn align -m runs/en-de --reverse-model runs/de-en --symmetrise intersection < pairs.tsv
      echo "A dog runs. ||| Ein Hund rennt." | attn align -m runs/en-de --show
      attn align -m runs/en-de -m runs/rnn --show test.en test.de
      attn align -m runs/en-de --view fast_align.links --picture both.html test.en test.de
    """
    name = format or (format_of(output) if output else "pharaoh")
    drawing = check_drawing(picture, pairs, drawn=show)
    models = model or []
    _check(files or [], models, reverse_model, view or [], overrides)
    check_inputs(files or [])
    check_output(output)
    if len(models) > 1 and not (show or picture or FORMATS[name].picture):
        raise typer.BadParameter("several models need --show or --picture", param_hint="'--model'")
    chosen = ChosenModels(
        models,
        reverse_model,
        overrides,
        max_batch_tokens,
        OpenOptions(device, threads, hard_decode, to=to, source=source),
    )
    heads = FORMATS[name].heads or drawing.heads
    with pair_source(files or []) as chunks:
        if view:
            external = ExternalInput(view, index, skip_bad)
            aligned = with_external_alignments(
                chunks, chosen, external, has_texts=bool(files), heads=heads
            )
        else:
            aligned = align_side_by_side(chunks, chosen.load(heads=heads))
        style = Style(probabilities, current_screen())
        out = Out(None if show and output is None else name, output, show, style, drawing)
        refused = write_all(aligned, out)
    if refused:
        raise typer.Exit(1)


def _check(
    files: list[Path],
    models: list[Path],
    reverse: Path | None,
    external: list[Path],
    overrides: AlignOverrides,
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
    if not models and external and (reverse or overrides):
        given = (
            "--reverse-model" if reverse else f"--{next(iter(overrides.values)).replace('_', '-')}"
        )
        raise typer.BadParameter("needs --model", param_hint=f"'{given}'")
    if external and overrides.get("units", "word") != "word":
        raise typer.BadParameter("files are viewed by word", param_hint="'--units'")
    for name in ("symmetrise", "flavour"):
        if name in overrides and not reverse:
            raise typer.BadParameter("needs --reverse-model", param_hint=f"'--{name}'")
