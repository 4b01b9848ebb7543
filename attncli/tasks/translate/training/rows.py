"""Rows of several inputs as training data: from a table with named columns to token ids.

data/tokenizer.model, source.ids, target.ids    as for sentence pairs; a source has several texts
data/images.txt                                 content hash, tab, name of the image of each row
dev.tsv                                         rows held out for evaluation, if no file is named
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attncli.data.dev_split import described, held_out
from attncli.data.text import tokens
from attncli.data.text.rows import row_pairs
from attncli.data.text.tokens import write_pairs
from attncli.tasks.translate.training.data import sampled_lines, write_tokenizer
from attncli.tasks.translate.training.dev import DevTexts
from attncli.tasks.translate.training.row_images import RowImages
from attncli.training.interfaces import Data, Prepared, Progress
from attncli.training.sources.preparation import (
    MOST_LINES,
    Preparation,
    prepare_folder,
    read_made,
    reading,
)
from models.base.files import write_text
from models.base.types import Batch
from models.bundle import Bundle
from models.inference.row_translator import RowTranslator
from models.inference.translator import Translator
from models.sources.rows import TAB, RowColumns
from models.text.tokenizer import RowTokenizer, Tokenizer

IMAGES = "images.txt"


class RowTable(NamedTuple):
    """A table of rows, without those that are held out."""

    path: tuple[str, ...]
    columns: RowColumns
    target: str
    held: frozenset[str] = frozenset()

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each row of inputs with its target."""
        rows = row_pairs(self.path, self.columns.names, self.target)
        return (pair for pair in rows if pair[0] not in self.held)


@dataclass(frozen=True)
class RowExamples(tokens.TokenPairs):
    """Tokenised rows with the inputs of their images."""

    images: RowImages
    keys: tuple[str, ...]  # content hash of the image of each row

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the padded batch of some rows, with their images."""
        images = self.images.of([self.keys[number] for number in numbers])
        return super().batch(numbers)._replace(images=images)


@dataclass(frozen=True)
class DevRows(DevTexts):
    """Rows that are decoded and scored during training."""

    images: RowImages | None = None  # of the run, if its rows name images

    def with_images(self, batch: Batch, sources: Sequence[str]) -> Batch:
        """Return a batch with the stored images of its rows."""
        if self.images is None:
            return batch
        return batch._replace(images=self.images.of_rows(sources).to(batch.source.device))

    def translator(self, bundle: Bundle, device: str) -> Translator:
        """Return a model in training, ready for use."""
        return self.reader(RowTranslator(bundle, device))

    def reader(self, translator: RowTranslator) -> RowTranslator:
        """Return a model that reads the stored images of the rows."""
        return translator.with_stored(None if self.images is None else self.images.of_rows)


def load(
    settings: Preparation,
    columns: RowColumns,
    images: RowImages | None,
    folder: Path,
    progress: Progress,
) -> Data:
    """Return the run's data; prepare them in the run folder the first time."""
    data, remarks = settings.data, tuple[str, ...]()
    table = RowTable(data.train, columns, data.target)
    if data.dev:
        dev = list(table._replace(path=data.dev).pairs())
    else:
        rows = (row for row, _ in table.pairs())
        table = table._replace(held=held_out(rows, data.dev_share, settings.seed))
        dev = write_dev(folder / "dev.tsv", table)
        remarks = (described(len(dev), "rows"),) if dev else ()
    prepared = prepare(settings, table, folder / "data", images, progress)
    found = dev_rows(dev, images, progress) if dev else None
    return Data(prepared._replace(remarks=remarks), found)


def dev_rows(pairs: list[tuple[str, str]], images: RowImages | None, progress: Progress) -> DevRows:
    """Return rows with their targets as a set to evaluate; store the inputs of their images."""
    rows = [row for row, _ in pairs]
    if images is not None:
        images.add(rows, progress)
    return DevRows(rows, [[target for _, target in pairs]], images=images)


def write_dev(path: Path, table: RowTable) -> list[tuple[str, str]]:
    """Write the rows that are held out, and return them."""
    every = table._replace(held=frozenset()).pairs()
    dev = [pair for pair in every if pair[0] in table.held]
    if dev:
        header = TAB.join((*table.columns.names, table.target))
        write_text(path, "".join(f"{line}\n" for line in [header, *map(TAB.join, dev)]))
    return dev


def prepare(
    settings: Preparation,
    table: RowTable,
    folder: Path,
    images: RowImages | None,
    progress: Progress,
) -> Prepared:
    """Return tokenizer and examples; they are made once, then read."""
    prepare_folder(folder, lambda part: _make(settings, table, part, images, progress))
    with reading(f"the tokenised rows in {folder} are"):
        dropped, pairs = tokens.Dropped(**read_made(folder)), tokens.read_pairs(folder)
        stored = (folder / IMAGES).read_text("utf-8").splitlines() if images else []
    tokenizer = RowTokenizer(Tokenizer.read(folder), table.columns.texts)
    if images is None:
        return Prepared(tokenizer, pairs, dropped)
    named = [line.partition(TAB) for line in stored]
    images.add_named({key: name for key, _, name in named}, progress)
    keys = tuple(key for key, _, _ in named)
    examples = RowExamples(pairs.source, pairs.target, images, keys)
    return Prepared(tokenizer, examples, dropped)


def _make(
    settings: Preparation,
    table: RowTable,
    folder: Path,
    images: RowImages | None,
    progress: Progress,
) -> None:
    progress("reading", 0, 0)
    texts = table.columns.texts
    rows, targets, total = sampled_lines(table.pairs(), MOST_LINES, settings.seed)
    sources = [text for row in rows for text in row.split(TAB)[:texts]]
    tokenizer = RowTokenizer(write_tokenizer(settings, sources, targets, folder, progress), texts)
    kept: list[np.ndarray] = []
    dropped = write_pairs(
        table.pairs(),
        tokenizer,
        folder,
        name=" ".join(table.path),
        max_length=settings.longest,
        advance=lambda done: progress("tokenising", done, total),
        take_kept=kept.append,
    )
    write_text(folder / "made.json", json.dumps(dropped._asdict()))
    if images is not None:
        used = compress((row for row, _ in table.pairs()), np.concatenate(kept))
        write_text(folder / IMAGES, "".join(images.lines(used)))
