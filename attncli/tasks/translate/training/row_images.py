"""Images of rows: features of a frozen encoder, or pixels, cached by content hash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from attncli.data.images.index import FileRange, ImageIndex, content_hash, open_images
from attncli.tasks.caption.training.features import (
    FeatureStore,
    add_missing,
    feature_stores,
)
from attncli.tasks.translate.training.source import RowData
from attncli.training.interfaces import Progress
from attncli.training.settings.config import TrainConfig
from models.base.errors import ModelError
from models.config import ModelConfig
from models.sources.rows import TAB, columns_of


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
