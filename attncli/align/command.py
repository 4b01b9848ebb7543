"""``attn align``."""

from __future__ import annotations

import itertools
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from attncli.align.pairs import LINKS, AlignOptions, AlignRunner, empty
from attncli.data.alignments import read_external_alignments
from attncli.data.corpus import PairLine, pair_of, pairs_of_files
from attncli.data.lines import input_chunks
from attncli.data.streams import check_inputs, check_output, open_input, open_output
from attncli.options.fields import command
from attncli.options.line_streams import Drawing, Output, Picture, check_drawing
from attncli.options.shared import MODEL, From, PictureFile, Show, To
from attncli.render.alignment import FORMATS, FormatName, format_of, heat_maps, written
from attncli.task.panels import AlignedPair
from attncli.terminal import console
from attncli.terminal.messages import counted, current_screen
from models.core.errors import ConfigurationError, ModelError

Files = Annotated[
    tuple[Path, ...],
    list[Path] | None,
    typer.Argument(help="Source and target, or one file of both; without files, standard input."),
]
Models = Annotated[
    tuple[Path, ...],
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


def with_external_alignments(
    chunks: Iterator[list[PairLine]],
    models: Sequence[Path],
    options: AlignOptions,
    paths: Sequence[Path],
) -> Iterator[list[AlignedPair]]:
    """Yield external alignments, together with those of the models if some are given."""
    pairs = list(itertools.chain.from_iterable(chunks))
    lengths = [(len(pair.source.split()), len(pair.target.split())) for pair in pairs]
    external = [read_external_alignments(path, lengths) for path in paths]
    for path, (_, note) in zip(paths, external, strict=True):
        if note:
            options.messages.say(f"{path.name}: {note}")
    if models:
        [aligned] = AlignRunner.open(models, options, named=True).run([pairs])
    else:
        aligned = [*map(empty, pairs)]
    shown = list[AlignedPair]()
    for pair, *others in zip(aligned, *(found for found, _ in external), strict=True):
        units = {"source": pair.source, "target": pair.target}
        panels = (*(pair.panels if models else ()), *(one._replace(**units) for one in others))
        shown.append(replace(pair, panels=panels))
    yield shown


@contextmanager
def pair_source(files: Sequence[Path]) -> Iterator[Iterator[list[PairLine]]]:
    """Open sentence pairs: two files, one file of both, or standard input."""
    if len(files) == 2:
        yield pairs_of_files(*files)
        return
    with open_input(files[0] if files else None) as stream:
        chunks = input_chunks(stream, "source ||| target")
        yield ([pair_of(line) for line in chunk] for chunk in chunks)


def write_all(
    aligned: Iterable[list[AlignedPair]],
    format: str | None,
    path: Path | None,
    drawing: Drawing,
    *,
    probabilities: bool,
    show: bool,
) -> int:
    """Write lines as they finish and documents at the end; return the number of refused pairs.

    format: None for heat maps alone.
    """
    picture, count, refused, screen = Picture(drawing), 0, 0, current_screen()
    kept: list[AlignedPair] = []  # of a document
    with (
        open_output(path) as write,
        console.progress("aligning", shown=path is not None) as advance,
    ):
        for chunk in aligned:
            if format and FORMATS[format].document:
                kept += chunk
            elif format:
                write(written(chunk, format, probabilities=probabilities))
            if show:
                shown = "".join(heat_maps(one, screen) for one in filter(drawing.wants, chunk))
                sys.stdout.buffer.write(shown.encode("utf-8", "replace"))
                sys.stdout.flush()
            picture.take(chunk)
            bad = [pair for pair in chunk if pair.note]
            for pair in bad:
                console.warn(f"pair {pair.number} is {pair.note}; not aligned")
            refused += len(bad)
            count += len(chunk)
            advance(count, counted(count, "pair"))
        if format and FORMATS[format].document:
            write(written(kept, format))
    picture.draw()
    return refused


@command
@dataclass(frozen=True)
class AlignCommand(AlignOptions):
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

    EXAMPLE = "align.units=char"
    files: Files = ()
    model: Models = ()
    reverse_model: Annotated[
        Path | None,
        typer.Option(help="A model from target to source; the links of both are symmetrised."),
    ] = None
    to: To = ""
    source: From = ""
    hypotheses: Annotated[
        tuple[Path, ...],
        list[Path] | None,
        typer.Option(
            help="Links of another program, drawn next to the model's or alone: Pharaoh, talp, "
            "NAACL or Marian's. May be repeated."
        ),
    ] = ()
    format: Annotated[
        str,
        FormatName | None,
        typer.Option(
            "--format", help="Output format. Default: by the file name of -o, otherwise pharaoh."
        ),
    ] = ""
    output_file: Output = None
    show: Show = False
    picture_file: PictureFile = None

    def run(self) -> None:
        """Align pairs, and write and draw their links."""
        files, models, output = self.files, self.model, self.output_file
        name = self.format or (format_of(output) if output else LINKS)
        drawing = check_drawing(self.picture_file, self.picture.lines, drawn=self.show, arrays=True)
        self._check()
        check_inputs(files)
        check_output(output, *files)
        form, is_drawn = FORMATS[name], self.show or self.picture_file or FORMATS[name].picture
        if len(models) > 1 and not is_drawn:
            raise typer.BadParameter(
                "several models need --show or --picture", param_hint="'--model'"
            )
        heads, scored = form.heads or drawing.heads, form.scores or drawing.heads
        options = replace(self, format=name, heads=heads, with_scores=scored)
        with pair_source(files) as chunks:
            if self.hypotheses:
                aligned = with_external_alignments(chunks, models, options, self.hypotheses)
            else:
                aligned = AlignRunner.open(models, options).run(chunks)
            refused = write_all(
                aligned,
                None if self.show and output is None else name,
                output,
                drawing,
                probabilities=self.links.probabilities,
                show=self.show,
            )
        if refused:
            raise typer.Exit(1)

    def _check(self) -> None:
        """Refuse options that conflict or would have no effect, and texts in place of files."""
        files, models, reverse, settings = (
            self.files,
            self.model,
            self.reverse_model,
            self.of("align"),
        )
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
        if not models and self.hypotheses and (reverse or settings):
            found = "--reverse-model" if reverse else f"align.{next(iter(settings))}"
            raise ConfigurationError(f"{found} without a model", "--model")
        if self.hypotheses and settings.get("units", "word") != "word":
            raise ConfigurationError(
                "align.units with --hypotheses, which are links of words", "word"
            )
