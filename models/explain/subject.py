"""Subjects of an explanation: a model, one input, and the output words that it explains.

f_j(x) = sum over the tokens t of word j of log p(y_t | y_1 .. y_{t-1}, x)

The input is seen in two ways: as vectors (S, E), which have gradients, and as I units (words, image
cells), which can be erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from models.core.errors import ConfigurationError
from models.core.sources import source_of
from models.core.types import Batch, Memory
from models.engines.captioner import Captioner
from models.engines.erasure import blurred, token_log_probs
from models.networks.encoder_decoder import EncoderDecoder
from models.search.batching import pad, teacher_forcing_batch
from models.text.tokenizer import END

MAX_SLOTS = 4096  # source slots of the rows that are computed at once
MAX_IMAGES = 32  # images in memory at once


class UnsupportedMethodError(ConfigurationError):
    """A method that needs a part that the model does not have."""


class Subject:
    """One input of a model and one output. T tokens, J words, S source slots, I units."""

    model: EncoderDecoder
    source: Tensor  # (1, S) ids, or (1, S, V) features
    target: Tensor  # (1, T) ids
    words: Tensor  # (J, T): 1 for the tokens of a word
    owner: Tensor  # (S,) unit of each slot, counted from 0; -1 for a slot of no unit
    units: int  # I
    slots: int  # of the memory
    vectors: Tensor  # (S, E) what the encoder computes with
    baseline: Tensor  # (S, E) vectors without information; those of slots of no unit are unchanged

    def memory(self, vectors: Tensor) -> Memory:
        """Return the memory of vectors (N, S, E), which the encoder reads as they are."""
        mask = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
        return self.model.encode(vectors, mask)

    def kept_log_probs(self, kept: Tensor) -> Tensor:
        """Return f (N, J) where only the units in kept (N, I) remain of the input."""
        raise NotImplementedError

    def batch(self, source: Tensor, mask: Tensor | None = None) -> Batch:
        """Return the output after each of the sources (N, S, ..) with mask (N, S)."""
        if mask is None:
            mask = torch.ones(source.shape[:2], dtype=torch.bool, device=source.device)
        target = self.target.expand(len(source), -1)
        return teacher_forcing_batch(source, mask, target, torch.ones_like(target).bool())

    def log_probs(self, vectors: Tensor, words: Tensor | None = None) -> Tensor:
        """Return f (N, J) of vectors (N, S, E), with gradients. words: (J, T); None: all."""
        tokens = self.model.target_log_probs(self.batch(vectors), self.memory(vectors))
        return tokens @ (self.words if words is None else words).T

    def by_word(self, weights: Tensor) -> Tensor:
        """Return the weights (J, I) of words and units: means of rows of weights (T, S)."""
        rows = self.words / self.words.sum(1, keepdim=True).clamp_min(1)
        return self.by_unit(rows @ weights)

    def by_unit(self, relevances: Tensor) -> Tensor:
        """Sum relevances (J, S) of slots over the units, (J, I)."""
        real = self.owner >= 0
        found = relevances.new_zeros(len(relevances), self.units)
        return found.index_add_(1, self.owner[real], relevances[:, real]).float().cpu()


class TextSubject(Subject):
    """A text. Its vectors are embeddings; the baseline of a word is the zero vector."""

    def __init__(
        self,
        model: EncoderDecoder,
        ids: Sequence[int],
        target: Sequence[int],
        owner: Tensor,
        words: Tensor,
    ) -> None:
        device = model.output.weight.device
        self.model, self.ids = model, ids
        self.source = torch.tensor([ids], device=device)
        self.target = torch.tensor([target], device=device)
        self.owner, self.words = owner.to(device), words.to(device)
        self.units = int(owner.max()) + 1
        encoder: Any = model.encoder
        if source_of(model.config.family).has_columns:
            raise ConfigurationError(
                f"an explanation by a model of several inputs ({model.config.family})",
                "a model of one text or image",
                "`attn translate --align` shows the attention of this model",
            )
        self.embedding = encoder.embedding
        self.slots = len(ids)
        self.vectors = self.embedding(self.source)[0].detach()
        self.baseline = self.vectors * (self.owner < 0)[:, None]

    def memory(self, vectors: Tensor) -> Memory:
        """Return the memory of embeddings (N, S, E)."""
        ids = self.source.expand(len(vectors), -1)
        with self.embedding.register_forward_hook(lambda *_: vectors):  # in place of its output
            return self.model.encode(ids, torch.ones_like(ids, dtype=torch.bool))

    @torch.inference_mode()
    def kept_log_probs(self, kept: Tensor) -> Tensor:
        """Return f (N, J) of the texts that keep the units in kept (N, I); see Subject.

        The tokens of the other units are removed. An empty text is the end mark alone.
        """
        found, tokens = [], list(zip(self.ids, self.owner.tolist(), strict=True))
        for part in kept.split(max(1, MAX_SLOTS // len(self.ids))):
            rows = [
                [number for number, unit in tokens if unit < 0 or row[unit]]
                for row in part.tolist()
            ]
            batch = self.batch(*pad([row or [END] for row in rows], self.source.device))
            found.append(self.model.target_log_probs(batch))
        return (torch.cat(found) @ self.words.T).cpu()


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
        slots, (rows, columns) = len(self.vectors), captioner.encoder.grid
        self.slots = slots
        self.units = min(slots, rows * columns)  # class tokens, which come first, are no cells
        owner = torch.arange(slots, device=self.source.device) - (slots - self.units)
        self.owner = owner.clamp_min(-1)

    def kept_log_probs(self, kept: Tensor) -> Tensor:
        """Return f (N, J) of the images that are sharp in the cells of kept (N, I) alone."""
        grid, found = self.captioner.encoder.grid, []
        for part in kept.split(MAX_IMAGES):
            images = [blurred(self.image, ~row.view(grid)) for row in part]
            found.append(token_log_probs(self.captioner, images, self.ids)[:, : len(self.ids)])
        return torch.cat(found) @ self.words.T.cpu()
