"""Rows of several inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from pathlib import Path

import numpy as np
from torch import Tensor

from attncli.caption.features import FeatureStore, add_missing, feature_stores
from attncli.data import tokens
from attncli.data.corpus import described, held_out
from attncli.data.named_files import FileRange, ImageIndex, content_hash, open_images
from attncli.data.tables import row_pairs
from attncli.training.interfaces import Data, Progress
from attncli.training.pairs import PairTable, prepare_pairs
from attncli.training.settings.config import TrainConfig
from attncli.training.sources import Preparation, reading
from attncli.translate.data import write_tokenizer
from attncli.translate.dev import DevTexts
from attncli.translate.settings import RowData
from models.core.config import ModelConfig
from models.core.errors import ModelError
from models.core.files import write_text
from models.core.sources import TAB, RowColumns, columns_of
from models.core.types import Batch
from models.engines.row_translator import RowTranslator
from models.engines.translator import Translator
from models.networks.bundle import Bundle
from models.text.tokenizer import RowTokenizer, Tokenizer

# Images of rows: features of a frozen encoder, or pixels, cached by content hash.


@dataclass
class RowImages:
    """The images that rows name, and their stored inputs."""

    store: FeatureStore
    index: ImageIndex | None  # of data.images; None: names are paths
    keys: dict[str, str] = field(default_factory=dict)  # content hash by name

    def key(self, name: str) -> str:
        """Return the content hash of an image; raise ModelError if there is no such file."""
        if name not in self.keys:
            self.keys[name] = content_hash(self._read(name))
        return self.keys[name]

    def _read(self, name: str) -> bytes:
        place = FileRange(Path(name)) if self.index is None else self.index.find(name)
        if place is None:
            assert self.index is not None
            raise ModelError(
                f"{self.index.path} has no image {name!r}", "the images that the rows name"
            )
        return place.read()

    def lines(self, rows: Iterable[str]) -> Iterator[str]:
        """Yield a line for the image of each row: content hash, tab, name."""
        for row in rows:
            name = image_name(row)
            yield f"{self.key(name)}\t{name}\n"

    def add(self, rows: Iterable[str], progress: Progress) -> None:
        """Store the inputs of the images of rows."""
        names = [image_name(row) for row in rows]
        self.add_named({self.key(name): name for name in names}, progress)

    def add_named(self, names: Mapping[str, str], progress: Progress) -> None:
        """Store the inputs of images, given their names by content hash."""
        broken = add_missing(self.store, names, lambda key: self._read(names[key]), progress)
        if broken:
            raise ModelError(next(iter(broken.values())), "images that can be decoded")

    def of(self, keys: Sequence[str]) -> Tensor:
        """Return features (B, S, V) or pixels (B, 3, h, w) of stored images."""
        source, _ = self.store.inputs.source(self.store.cache.rows(keys))
        return source

    def of_rows(self, rows: Sequence[str]) -> Tensor:
        """Return features or pixels, as `of`, of the images that rows name."""
        return self.of([self.key(image_name(row)) for row in rows])


def image_name(row: str) -> str:
    """Return the name of the image of a row: its last column."""
    return row.rsplit(TAB, 1)[-1]


def row_images(
    model: ModelConfig, data: RowData, train: TrainConfig, start_from: str
) -> RowImages | None:
    """Return the store of the images of a run; None if the model reads none.

    start_from: the initial model of the run; "": none.
    """
    if not columns_of(model.inputs).has_image:
        return None
    store = feature_stores(model, data.features, train, start_from, "encoder.image")[-1]
    index = open_images(data.images) if data.images else None
    return RowImages(store, index)


IMAGES = "images.txt"


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
    rows = partial(row_pairs, inputs=columns.names, target=data.target)
    table = PairTable(" ".join(data.train), partial(rows, data.train))
    if data.dev:
        dev = list(rows(data.dev))
    else:
        table = table._replace(held=held_out(table.pairs(), data.dev_share))
        dev = [pair for pair in table.read() if pair[0] in table.held]
        lines = [TAB.join((*columns.names, data.target)), *map(TAB.join, dev)]
        if dev:
            write_text(folder / "dev.tsv", "".join(f"{line}\n" for line in lines))
            remarks = (described(len(dev), "rows"),)
    examples = prepare(settings, table, columns.texts, folder / "data", images, progress)
    found = dev_rows(dev, images, progress) if dev else None
    return examples._replace(dev=found, remarks=remarks)


def dev_rows(pairs: list[tuple[str, str]], images: RowImages | None, progress: Progress) -> DevRows:
    """Return rows with their targets as a set to evaluate; store the inputs of their images."""
    rows = [row for row, _ in pairs]
    if images is not None:
        images.add(rows, progress)
    return DevRows(rows, [[target for _, target in pairs]], images=images)


def prepare(
    settings: Preparation,
    table: PairTable,
    texts: int,
    folder: Path,
    images: RowImages | None,
    progress: Progress,
) -> Data:
    """Return tokenizer and examples; they are made once, then read. texts: of a row."""

    def learn(part: Path, rows: list[str], targets: list[str]) -> Tokenizer:
        sources = [text for row in rows for text in row.split(TAB)[:texts]]
        return RowTokenizer(write_tokenizer(settings, sources, targets, part, progress), texts)

    def finish(part: Path, tokenizer: Tokenizer, kept: np.ndarray) -> None:
        if images is not None:
            used = compress((row for row, _ in table.pairs()), kept)
            write_text(part / IMAGES, "".join(images.lines(used)))

    pairs, dropped = prepare_pairs(settings, table, folder, progress, learn=learn, finish=finish)
    tokenizer = RowTokenizer(Tokenizer.read(folder), texts)
    if images is None:
        return Data(tokenizer, pairs, dropped)
    with reading(f"the images of the rows in {folder} are"):
        stored = (folder / IMAGES).read_text("utf-8").splitlines()
    named = [line.partition(TAB) for line in stored]
    images.add_named({key: name for key, _, name in named}, progress)
    keys = tuple(key for key, _, _ in named)
    return Data(tokenizer, RowExamples(pairs.source, pairs.target, images, keys), dropped)
