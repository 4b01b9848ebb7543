"""Random augmentation of images: mirroring and cropping."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample


@dataclass(frozen=True)
class Augmentation:
    """Random mirroring and crops, sampled by torch's generator, which checkpoints store."""

    flip: float = 0.5  # share of images that are mirrored
    crop: float = 0.8  # smallest share of an image's area that is kept; 1: no cropping

    def __call__(self, images: Tensor) -> Tensor:
        """Return augmented copies of images (B, 3, h, w)."""
        count = len(images)
        scale = (1 - torch.rand(count) * (1 - self.crop)).sqrt()  # of either side
        mirror = torch.where(torch.rand(count) < self.flip, -1.0, 1.0)
        shift = (2 * torch.rand(2, count) - 1) * (1 - scale)  # of the middle
        theta = torch.zeros(count, 2, 3)  # from positions in the new image to those in the old
        theta[:, 0, 0], theta[:, 1, 1] = scale * mirror, scale
        theta[:, :, 2] = shift.T
        grid = affine_grid(theta, list(images.shape), align_corners=False)
        return grid_sample(images, grid, padding_mode="border", align_corners=False)
