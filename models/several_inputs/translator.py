"""A trained model of several inputs ready for use: rows in, translations with scores out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from PIL.Image import Image
from torch import Tensor

from models.core.errors import InputError, ModelError
from models.core.sources import TAB, columns_of
from models.core.use_config import VERBATIM
from models.engines.text_translator import EncodedText
from models.engines.translator import Translator
from models.networks.bundle import Bundle
from models.signals.images import open_image, to_tensor
from models.text.tokenizer import RowTokenizer

if TYPE_CHECKING:
    from typing_extensions import Self

Stored = Callable[[Sequence[str]], Tensor]  # rows to the features or pixels of their images


class RowTranslator(Translator):
    """A model of several inputs on a device. Its output for a row does not depend on the batch.

    A row is a text: columns separated by tabs, in the order of `model.inputs`; the column of an
    image is its path.
    """

    source = "rows"
    stored: Stored | None = None  # see `with_stored`

    def __init__(self, bundle: Bundle, device: str = "cpu") -> None:
        super().__init__(bundle, device)
        self.columns = columns_of(self.config.inputs)
        self.inputs, self.prepare = self.columns.names, VERBATIM  # a row is not text
        self.tokenizer = RowTokenizer(bundle.tokenizer, self.columns.texts)

    def _encoded(
        self, texts: Sequence[tuple[str, str]], languages: Sequence[str], *, first: int
    ) -> list[EncodedText]:
        """Encode rows; raise InputError for one with another number of columns."""
        for number, (row, _) in enumerate(texts, first):
            if row.strip() and row.count(TAB) != len(self.columns.names) - 1:
                raise InputError(
                    f"row {number} has {row.count(TAB) + 1} columns",
                    f"{len(self.columns.names)}, separated by tabs: "
                    f"{', '.join(self.columns.names)}",
                )
        return super()._encoded(texts, languages, first=first)

    def fault(self, text: str) -> str:
        """Return why the image of a row cannot be read; "" if it can, or the model reads none."""
        if not self.columns.has_image:
            return ""
        try:
            self._image(text)
        except ModelError as error:
            return str(error)
        return ""

    def unknown_characters(self, text: str) -> str:
        """Return the characters of a row's texts that the model has no token for."""
        return super().unknown_characters("".join(text.split(TAB)[: self.columns.texts]))

    def with_stored(self, stored: Stored | None) -> Self:
        """Return this model with stored images in place of their files. None: files."""
        other = copy.copy(self)
        other.stored = stored
        return other

    @torch.inference_mode()
    def images(self, rows: Sequence[str]) -> Tensor | None:
        """Return the features (B, S, V) or stored pixels of the images of rows.

        None: the model reads no image.
        """
        if not self.columns.has_image:
            return None
        if self.stored is not None:
            return self.stored(rows).to(self.device)
        encoder: Any = self.model.encoder.image  # of several inputs
        found = []
        for row in rows:
            pixels = to_tensor(self._image(row), self.config.image).to(self.device)
            found.append(encoder.features(pixels[None]))
        return torch.cat(found)

    def _image(self, row: str) -> Image:
        """Open the image of a row, its last column."""
        return open_image(Path(row.rsplit(TAB, 1)[-1]), least=self.config.image.size)
