"""An image as the subject of an explanation: its cells are the units."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from PIL import Image
from torch import Tensor

from models.base.types import Memory
from models.explain.subject import Subject
from models.inference.captioner import Captioner
from models.inference.erasure import blurred, token_log_probs

MOST_IMAGES = 32  # images in memory at once


class ImageSubject(Subject):
    """An image. Its vectors are the features of its cells; the baseline is their mean.

    A cell is erased by blur, because the network sees every pixel. image: the square that the
    captioner reads. ids: of the caption. words: (J, T), see Subject.
    """

    def __init__(
        self, captioner: Captioner, image: Image.Image, ids: Sequence[int], words: Tensor
    ) -> None:
        self.captioner, self.image, self.ids = captioner, image, ids
        self.model = captioner.model
        self.source = captioner.features([image])  # (1, S, V)
        self.vectors = self.source[0]
        self.baseline = self.vectors.mean(0, keepdim=True).expand_as(self.vectors)
        self.target = torch.tensor([ids], device=self.source.device)
        self.words = words.to(self.source.device)
        self.units = self.vectors.shape[0]
        self.owner = torch.arange(self.units, device=self.source.device)

    def memory(self, vectors: Tensor) -> Memory:
        """Return the memory of features (N, S, V)."""
        mask = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
        return self.model.encode(vectors, mask)

    def kept_log_probs(self, kept: Tensor) -> Tensor:
        """Return f (N, J) of the images that are sharp in the cells of kept (N, I) alone."""
        grid, found = self.captioner.encoder.grid, []
        for part in kept.split(MOST_IMAGES):
            images = [blurred(self.image, ~row.view(grid)) for row in part]
            found.append(token_log_probs(self.captioner, images, self.ids)[:, : len(self.ids)])
        return torch.cat(found) @ self.words.T.cpu()
