"""Rows of several inputs: their texts, and their images as features or pixels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import compress
from pathlib import Path

import numpy as np
from torch import Tensor

from attncli.caption.features import ImageFiles, feature_stores
from attncli.data.corpus import held_out
from attncli.data.named_files import content_hash
from attncli.data.tables import row_pairs
from attncli.several_inputs.source import RowTraining
from attncli.training.dev import Data
from attncli.training.interfaces import Progress
from attncli.training.prepared import (
    Learn,
    PairTable,
    Preparation,
    learn_tokenizer,
    load_tables,
    reading,
)
from attncli.translate.dev import DevTexts
from models.core.errors import ModelError
from models.core.files import write_text
from models.core.sources import TAB, columns_of
from models.core.types import Batch
from models.engines.translator import Translator
from models.networks.bundle import Bundle
from models.several_inputs.translator import RowTranslator
from models.text.tokenizer import RowTokenizer, Tokenizer

IMAGES = "images.txt"


class RowImages(ImageFiles):
    """The images that rows name, and their stored inputs."""

    @cache  # noqa: B019  # as long as the run
    def key(self, name: str) -> str:
        """Return the content hash of an image; raise ModelError if there is no such file."""
        return content_hash(self.read(name))

    def lines(self, rows: Iterable[str]) -> Iterator[str]:
        """Yield a line for the image of each row: content hash, tab, name."""
        for row in rows:
            name = image_name(row)
            yield f"{self.key(name)}\t{name}\n"

    def add_all(self, names: Mapping[str, str], progress: Progress) -> None:
        """Store the inputs of images; raise ModelError if one cannot be decoded."""
        if broken := self.add(names, progress):
            raise ModelError(next(iter(broken.values())), "images that can be decoded")

    def of_rows(self, rows: Sequence[str]) -> Tensor:
        """Return features (B, S, V) or pixels (B, 3, h, w) of the images that rows name."""
        keys = [self.key(image_name(row)) for row in rows]
        return self.stores[-1].images(keys).padded(np.arange(len(keys)))[0]


def image_name(row: str) -> str:
    """Return the name of the image of a row: its last column."""
    return row.rsplit(TAB, 1)[-1]


def row_images(source: RowTraining) -> RowImages | None:
    """Return the store of the images of a run; None if the model reads none."""
    model, data = source.model, source.data
    if not columns_of(model.inputs).has_image:
        return None
    named = (model, data.features, source.train, source.start_from, "encoder.image")
    return RowImages(data.images, feature_stores(*named)[-1:])


@dataclass(frozen=True)
class DevRows(DevTexts):
    """Rows that are translated and scored during training."""

    images: RowImages | None = None  # of the run, if its rows name images

    def with_images(self, batch: Batch, numbers: Sequence[int]) -> Batch:
        """Return a batch with the stored images of its rows."""
        if self.images is None:
            return batch
        images = self.images.of_rows([self.sources[n] for n in numbers])
        return batch._replace(images=images.to(batch.source.device))

    def translator(self, bundle: Bundle, device: str) -> Translator:
        """Return a model in training, which reads the stored images of the rows."""
        stored = None if self.images is None else self.images.of_rows
        return RowTranslator(bundle, device).with_stored(stored)

    def store_head(self, folder: Path, device: str) -> None:
        """Store nothing: rows cannot be aligned."""


def dev_rows(
    pairs: Iterable[tuple[str, str]], images: RowImages | None, progress: Progress
) -> DevRows:
    """Return rows with their targets as a set to evaluate; store the inputs of their images."""
    rows, targets = zip(*pairs, strict=True)
    if images is not None:
        images.add_all({images.key(name): name for name in map(image_name, rows)}, progress)
    return DevRows(rows, [[target] for target in targets], images=images)


def test_set(source: RowTraining, files: Sequence[Path], progress: Progress) -> DevRows:
    """Return a test set, with the stored images of its rows."""
    pairs = row_pairs(files, columns_of(source.model.inputs).names, source.data.target)
    return dev_rows(pairs, row_images(source), progress)


def load(source: RowTraining, folder: Path, progress: Progress) -> Data:
    """Return the run's data; prepare them in the run folder the first time."""
    data, place = source.data, folder / "data"
    columns, images = columns_of(source.model.inputs), row_images(source)
    rows = partial(row_pairs, inputs=columns.names, target=data.target)
    table = PairTable(" ".join(data.train), partial(rows, data.train), source.longest)
    if data.dev:
        dev = list(rows(data.dev))
    else:
        table = table._replace(held=held_out(table.pairs(), data.dev_share))
        dev = [pair for pair in table.read() if pair[0] in table.held]
        lines = [TAB.join((*columns.names, data.target)), *map(TAB.join, dev)]
        if dev:
            write_text(folder / "dev.tsv", "".join(f"{line}\n" for line in lines))

    def learner(part: Path, rows: list[str], targets: list[str]) -> Learn:
        sources = [text for row in rows for text in row.split(TAB)[: columns.texts]]
        return partial(learn_tokenizer, sources, targets, source.tokenizer)

    def of_rows(tokenizer: Tokenizer) -> Tokenizer:
        return RowTokenizer(tokenizer, columns.texts)

    def finish(part: Path, tokenizer: Tokenizer, kept: np.ndarray) -> None:
        if images is not None:
            used = compress((row for row, _ in table.pairs()), kept)
            write_text(part / IMAGES, "".join(images.lines(used)))

    how = Preparation(learner, of_rows, finish)
    [examples], dropped, tokenizer = load_tables(source, [table], place, progress, how)
    if images:
        with reading(f"the images of the rows in {place} are"):
            stored = (place / IMAGES).read_text("utf-8").splitlines()
        named = [line.partition(TAB) for line in stored]
        images.add_all({key: name for key, _, name in named}, progress)
        examples = replace(examples, images=images.stores[-1].images(key for key, _, _ in named))
    found = dev_rows(dev, images, progress) if dev else None
    return Data(of_rows(tokenizer), examples, dropped, found)
