"""``attn align``: parse the options, align or read alignments, write and draw them."""

from __future__ import annotations

import itertools
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from attncli import console
from attncli.commands.drawing import Drawing, Picture, check_drawing
from attncli.commands.line_streams import Output
from attncli.data.lines import read_chunks
from attncli.data.links import Index
from attncli.data.pairs import PairLine, pairs_of_files, pairs_of_lines
from attncli.data.panels import AlignedPair
from attncli.data.streams import check_inputs, check_output, open_input, open_output
from attncli.data.typed import typed_chunks
from attncli.jobs import loading
from attncli.jobs.align import (
    Aligner,
    align_side_by_side,
    aligner_of,
    external_only,
    read_external,
    with_external,
)
from attncli.jobs.loading import OpenOptions, model_names
from attncli.options import (
    MODEL,
    BatchTokens,
    Device,
    From,
    HardDecode,
    Threads,
    To,
    with_settings,
)
from attncli.overrides import AlignOverrides
from attncli.plurals import counted
from attncli.render.alignment.writers import FORMATS, FormatName, Style, format_of, written
from attncli.render.screen import current_screen
from models.config import MAX_BATCH_TOKENS
from models.errors import ModelError
from models.installed import chosen_model

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
    chosen = _Chosen(
        models,
        reverse_model,
        overrides,
        max_batch_tokens,
        OpenOptions(device, threads, hard_decode, to=to, source=source),
    )
    heads = FORMATS[name].heads or drawing.heads
    with _source(files or []) as chunks:
        if view:
            aligned = _with_external(chunks, bool(files), chosen, view, index, skip_bad, heads)
        else:
            aligned = align_side_by_side(chunks, chosen.load(heads=heads))
        style = Style(probabilities, current_screen())
        out = Out(None if show and output is None else name, output, show, style, drawing)
        refused = _write_all(aligned, out)
    if refused:
        raise typer.Exit(1)


class _Chosen(NamedTuple):
    """The models chosen on the command line, before they are loaded."""

    models: list[Path]
    reverse: Path | None
    overrides: AlignOverrides
    max_batch_tokens: int
    options: OpenOptions

    def load(self, *, heads: bool, named: bool = False) -> list[Aligner]:
        """Load the models. This imports torch, so all cheaper checks come before it."""
        given: list[Path | None] = [*self.models] or [None]
        models = [chosen_model(model, "translate") for model in given]
        options = replace(self.options, mixed=len(models) > 1)
        names = model_names(models) if named or len(models) > 1 else [""]
        return [
            aligner_of(
                loading.open_aligner(model, options),
                self.overrides,
                reverse=self.reverse and loading.open_reverse(self.reverse, self.options),
                name=name,
                heads=heads,
                max_batch_tokens=self.max_batch_tokens,
            )
            for name, model in zip(names, models, strict=True)
        ]


class Out(NamedTuple):
    """Destinations of the alignments."""

    format: str | None  # None: heat maps alone
    path: Path | None
    show: bool
    style: Style
    drawing: Drawing


def _with_external(
    chunks: Iterator[list[PairLine]],
    given: bool,
    chosen: _Chosen,
    paths: list[Path],
    index: Index | None,
    skip_bad: bool,
    heads: bool,
) -> Iterator[list[AlignedPair]]:
    """Yield external alignments, together with those of the model if one is given."""
    read = list(itertools.chain.from_iterable(chunks)) if given else None
    pairs, external = read_external(paths, read, index=index, skip_bad=skip_bad)
    for path, found in zip(paths, external, strict=True):
        if found.note:
            console.say(f"{path.name}: {found.note}")
    if not chosen.models:
        yield list(external_only(pairs, external))
        return
    for chunk in align_side_by_side([pairs], chosen.load(heads=heads, named=True)):
        yield list(with_external(chunk, external))


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


@contextmanager
def _source(files: list[Path]) -> Iterator[Iterator[list[PairLine]]]:
    if len(files) == 2:
        yield pairs_of_files(*files)
        return
    with open_input(files[0] if files else None) as stream:
        typed = stream.isatty()
        lines = typed_chunks(stream, "source ||| target") if typed else read_chunks(stream)
        yield pairs_of_lines(lines)


def _write_all(aligned: Iterable[list[AlignedPair]], out: Out) -> int:
    """Write lines as they finish and documents at the end; return the number of refused pairs."""
    picture, document = Picture(out.drawing), _Document(out.format, out.style)
    count = refused = 0
    with open_output(out.path) as write, _progress(shown=out.path is not None) as advance:
        for chunk in aligned:
            if out.format:
                write(document.add(chunk))
            if out.show:
                chosen = list(filter(out.drawing.wants, chunk))
                sys.stdout.buffer.write(written(chosen, "terminal", out.style))
                sys.stdout.flush()
            picture.take(chunk)
            refused += sum(map(_reported, chunk))
            count += len(chunk)
            advance(count, counted(count, "pair"))
        write(document.end())
    picture.draw()
    return refused


class _Document:
    """Alignments in one format: lines are written at once, a document at the end."""

    def __init__(self, name: str | None, style: Style) -> None:
        self.name, self.style = name, style
        self.whole = name is not None and FORMATS[name].document is not None
        self.pairs: list[AlignedPair] = []

    def add(self, chunk: list[AlignedPair]) -> bytes:
        """Return the bytes that can be written now."""
        if self.whole:
            self.pairs += chunk
            return b""
        return written(chunk, self.name or "", self.style)

    def end(self) -> bytes:
        """Return the bytes to write at the end."""
        return written(self.pairs, self.name or "", self.style) if self.whole else b""


def _reported(pair: AlignedPair) -> bool:
    """Report a pair that could not be aligned; return True if there was one."""
    if pair.note:
        console.warn(f"pair {pair.number} is {pair.note}; not aligned")
    return bool(pair.note)


@contextmanager
def _progress(*, shown: bool) -> Iterator[console.ShowProgress]:
    """Show the number of aligned pairs if results go to a file."""
    if not shown:
        yield lambda done, note="": None
        return
    with console.progress("aligning") as advance:
        yield advance
