"""Training examples of captions; captions of one image share its row of image inputs.

Pixels can be augmented by mirroring and cropping.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from attncli.data.alignments.word_links import target_weights
from attncli.data.batching import Examples
from attncli.data.text.tokens import Side
from models.base.types import Batch
from models.inference.search.batching import teacher_forcing_batch

FLIP = 0.5  # share of images that are mirrored
CROP = 0.8  # smallest share of an image's area that is kept; 1: no cropping


@dataclass(frozen=True)
class ImageInputs:
    """Inputs of the model for images: features of a frozen encoder, or pixels."""

    table: np.ndarray  # (rows, S, V) of floats, or (rows, 3, h, w) of bytes; memory-mapped
    slots: int  # S: cells that the encoder leaves
    augment: bool = False  # True: mirror and crop pixels at random

    @property
    def are_pixels(self) -> bool:
        """Return True for pixels, which the encoder has not processed yet."""
        return self.table.ndim == 4

    def source(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return features (B, S, V) or pixels (B, 3, h, w) from 0 to 1, and the mask (B, S)."""
        source = torch.from_numpy(np.ascontiguousarray(self.table[rows]))
        if self.are_pixels:
            source = source.float().div_(255)
            source = augmented(source) if self.augment else source
        return source, torch.ones(len(rows), self.slots, dtype=torch.bool)


def augmented(images: Tensor, *, flip: float = FLIP, crop: float = CROP) -> Tensor:
    """Return mirrored and cropped copies of images (B, 3, h, w).

    The random numbers are those of torch's generator, which checkpoints store.
    """
    count = len(images)
    scale = (1 - torch.rand(count) * (1 - crop)).sqrt()  # of either side
    mirror = torch.where(torch.rand(count) < flip, -1.0, 1.0)
    shift = (2 * torch.rand(2, count) - 1) * (1 - scale)  # of the middle
    theta = torch.zeros(count, 2, 3)  # from positions in the new image to those in the old
    theta[:, 0, 0], theta[:, 1, 1] = scale * mirror, scale
    theta[:, :, 2] = shift.T
    grid = affine_grid(theta, list(images.shape), align_corners=False)
    return grid_sample(images, grid, padding_mode="border", align_corners=False)


@dataclass(frozen=True)
class CaptionExamples(Examples):
    """Captions and the image inputs of their images."""

    target: Side
    rows: np.ndarray  # (N,) row of the inputs for each caption's image
    inputs: ImageInputs
    links: Side | None = None  # of each caption: cell, target token, cell, target token, ..
    together: bool = False  # True: captions of one image share a batch, so that it is encoded once

    @property
    def count(self) -> int:
        """Number of captions."""
        return len(self.rows)

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (N,): 0 for every image, and the number of tokens of every caption."""
        return np.zeros(self.count, np.int64), self.target.lengths

    @property
    def shared(self) -> np.ndarray | None:
        """Image of each caption, if captions of one image share a batch; otherwise None."""
        return self.rows if self.together else None

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the padded batch of some captions with their images."""
        images, rows = self.rows[numbers], None
        if self.together:
            images, places = np.unique(images, return_inverse=True)
            rows = torch.from_numpy(places)
        target = self.target.padded(numbers)
        batch = teacher_forcing_batch(*self.inputs.source(images), *target)
        return batch._replace(rows=rows, regions=self.regions(numbers, batch))

    def regions(self, numbers: np.ndarray, batch: Batch) -> Tensor | None:
        """Return where attention should be (B, T, S), if there are links."""
        if self.links is None:
            return None
        shape = batch.target_out.shape[1], self.inputs.slots
        pairs = [self.links[number].reshape(-1, 2) for number in numbers]
        return torch.from_numpy(target_weights(pairs, shape))


@dataclass(frozen=True)
class CaptionStages(CaptionExamples):
    """Captions whose inputs or grouping change at given epochs, counted from 0.

    Their own fields are those of the last stage.
    """

    first: CaptionExamples | None = None  # the images before the epoch `turn`, if others
    turn: int = 0
    together_from: int = 0  # the epoch with which captions of one image begin to share a batch

    def at(self, epoch: int) -> CaptionExamples:
        """Return the captions of an epoch, counted from 0."""
        shown = self.first if self.first and epoch < self.turn else self
        together = epoch >= self.together_from
        return CaptionExamples(shown.target, shown.rows, shown.inputs, shown.links, together)
