"""A run of ``attn align``: align pairs or read alignments, write and draw them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from attncli.data.alignments.external import read_external_alignments
from attncli.data.lines import input_chunks
from attncli.data.panels import AlignedPair
from attncli.data.streams import open_input, open_output
from attncli.data.text.corpus import PairLine, pairs_of_files, pairs_of_lines
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions, model_names
from attncli.options.pictures import Drawing, Picture
from attncli.render.alignment.writers import FORMATS, Style, written
from attncli.tasks.align.pairs import (
    Aligner,
    align_side_by_side,
    aligner_of,
    empty,
)
from attncli.terminal.messages import Messages, counted
from models.catalogue.installed import chosen_model


class ChosenModels(NamedTuple):
    """The models chosen on the command line, before they are loaded."""

    models: list[Path]
    reverse: Path | None
    overrides: Mapping[str, Any]
    max_batch_tokens: int
    options: OpenOptions
    heads: bool = False  # True adds the weights of every head
    scored: bool = True  # False leaves out the scores of pairs

    def load(self, *, named: bool = False) -> list[Aligner]:
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
                heads=self.heads,
                max_batch_tokens=self.max_batch_tokens,
                scored=self.scored,
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
    messages: Messages


def with_external_alignments(
    chunks: Iterator[list[PairLine]], chosen: ChosenModels, paths: Sequence[Path]
) -> Iterator[list[AlignedPair]]:
    """Yield external alignments, together with those of the models if some are given."""
    pairs = list(itertools.chain.from_iterable(chunks))
    lengths = [(len(pair.source.split()), len(pair.target.split())) for pair in pairs]
    external = [read_external_alignments(path, lengths) for path in paths]
    for path, alignments in zip(paths, external, strict=True):
        if alignments.note:
            chosen.options.messages.say(f"{path.name}: {alignments.note}")
    if chosen.models:
        [aligned] = align_side_by_side([pairs], chosen.load(named=True))
    else:
        aligned = [empty(pair)._replace(panels=()) for pair in pairs]
    panels = zip(*(alignments.panels for alignments in external), strict=True)
    yield [
        pair._replace(panels=(*pair.panels, *others))
        for pair, others in zip(aligned, panels, strict=True)
    ]


@contextmanager
def pair_source(files: list[Path]) -> Iterator[Iterator[list[PairLine]]]:
    """Open sentence pairs: two files, one file of both, or standard input."""
    if len(files) == 2:
        yield pairs_of_files(*files)
        return
    with open_input(files[0] if files else None) as stream:
        yield pairs_of_lines(input_chunks(stream, "source ||| target"))


def write_all(aligned: Iterable[list[AlignedPair]], out: Out) -> int:
    """Write lines as they finish and documents at the end; return the number of refused pairs."""
    picture, count, refused = Picture(out.drawing), 0, 0
    kept: list[AlignedPair] = []  # of a document
    with (
        open_output(out.path) as write,
        out.messages.progress("aligning", shown=out.path is not None) as advance,
    ):
        for chunk in aligned:
            if out.format and FORMATS[out.format].document:
                kept += chunk
            elif out.format:
                write(written(chunk, out.format, out.style))
            if out.show:
                chosen = list(filter(out.drawing.wants, chunk))
                sys.stdout.buffer.write(written(chosen, "terminal", out.style))
                sys.stdout.flush()
            picture.take(chunk)
            bad = [pair for pair in chunk if pair.note]
            for pair in bad:
                out.messages.warn(f"pair {pair.number} is {pair.note}; not aligned")
            refused += len(bad)
            count += len(chunk)
            advance(count, counted(count, "pair"))
        if out.format and FORMATS[out.format].document:
            write(written(kept, out.format, out.style))
    picture.draw()
    return refused
