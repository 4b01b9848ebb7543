"""A trained captioner in use: pictures in, captions out, and where the model looked."""

from __future__ import annotations

import copy
import itertools
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from PIL import Image
from torch import Tensor

from models.bundle import Bundle, read
from models.config import ModelConfig, SearchConfig
from models.encoders.image import ImageEncoder
from models.images import to_tensor
from models.inference.search import Finished, search
from models.sources import check_source
from models.tokenizer import END, START
from models.types import Batch, Hypothesis

Picture = Image.Image | Tensor  # or its pixels (3, h, w), or its features (S, V)


class ImageAttention(NamedTuple):
    """Where a captioner looked while it said each word."""

    words: tuple[str, ...]
    maps: Tensor  # (W, rows, columns), each summing to 1: the mean of the word's pieces
    gates: Tensor | None  # (W,) beta: how much of what was read went on
    entropy: Tensor  # (W,) of the maps, in nats: 0 one cell, log(cells) all alike
    read: str  # soft, hard argmax, hard sample or hard expected


class Caption(NamedTuple):
    """The outputs for one picture, best first."""

    hypotheses: tuple[Hypothesis, ...]
    attention: ImageAttention | None  # of the best one, where asked for

    @property
    def text(self) -> str:
        """The best output."""
        return self.hypotheses[0].text


class Captioner:
    """A bundle on a device. `caption` gives the same answer whatever the batch."""

    def __init__(self, bundle: Bundle, device: str = "cpu") -> None:
        check_source(bundle.model.config.family, "image")
        self.model = bundle.model.to(device).eval()
        self.tokenizer = bundle.tokenizer
        self.search = bundle.search
        self.device = torch.device(device)

    @classmethod
    def read(cls, folder: str | Path, *, device: str = "cpu") -> Captioner:
        """The captioner of a bundle folder."""
        return cls(read(Path(folder)), device)

    @property
    def config(self) -> ModelConfig:
        """The model's configuration."""
        return self.model.config

    @property
    def encoder(self) -> ImageEncoder:
        """What turns pictures into cells."""
        assert isinstance(self.model.encoder, ImageEncoder)
        return self.model.encoder

    @property
    def read_mode(self) -> str:
        """Read mode of the attention: "soft", "hard argmax", "hard sample" or "hard expected"."""
        return self.model.read_mode

    def with_search(self, search: SearchConfig) -> Captioner:
        """Return this model with other default search settings; the weights are shared."""
        other = copy.copy(self)
        other.search = search
        return other

    def with_read_mode(self, decode: str, *, seed: int = 1) -> Captioner:
        """The same with its hard attention read in another way: argmax, sample or expected.

        seed: of the samples. A ModelError if the attention is not hard.
        """
        other = copy.copy(self)
        other.model = self.model.with_read_mode(decode, seed=seed)
        return other

    def caption(
        self,
        images: Sequence[Picture],
        *,
        search: SearchConfig | None = None,
        attention: bool = False,
        batch: int = 32,
    ) -> list[Caption]:
        """Captions of pictures, or of the features (S, V) of pictures, in order.

        attention: whether to say where the model looked, which costs one more pass.
        """
        config, found = search or self.search, []
        for start in range(0, len(images), batch):
            part = [self._pixels(image) for image in images[start : start + batch]]
            keys = [key(pixels) if config.method == "sample" else "" for pixels in part]
            found += self._caption(self.features(part), keys, config, attention)
        return found

    @torch.no_grad()
    def features(self, images: Sequence[Picture]) -> Tensor:
        """Features (N, S, V) of pictures; those that are given as features stay what they are."""
        given = [self._pixels(image).to(self.device) for image in images]
        pixels = [image for image in given if image.dim() == 3]
        seen: Iterator[Tensor] = iter(self.encoder.features(torch.stack(pixels)) if pixels else ())
        return torch.stack([next(seen) if i.dim() == 3 else i.float() for i in given])

    def _pixels(self, image: Picture) -> Tensor:
        """Pixels (3, size, size) of a picture; features (S, V) as they are."""
        return to_tensor(image, self.config.image) if isinstance(image, Image.Image) else image

    @torch.inference_mode()
    def _caption(
        self, features: Tensor, keys: list[str], config: SearchConfig, attention: bool
    ) -> list[Caption]:
        mask = torch.ones(features.shape[:2], dtype=torch.bool, device=self.device)
        limits = [config.max_caption] * len(features)
        outputs = search(self.model, self.model.encode(features, mask), limits, keys, config)
        looks: list[Any] = [None] * len(outputs)
        if attention:
            looks = self._attention(features, mask, [found[0].ids for found in outputs])
        return [
            Caption(tuple(self._hypothesis(one) for one in found), look)
            for found, look in zip(outputs, looks, strict=True)
        ]

    def _attention(
        self, features: Tensor, mask: Tensor, said: list[tuple[int, ...]]
    ) -> list[ImageAttention]:
        batch = forced(features, mask, said)
        passed = self.model.teacher_force(batch, want_weights=True)
        assert passed.weights is not None
        weights = passed.weights.float().cpu()
        gates = None if passed.gates is None else passed.gates.float().cpu()
        return [
            self._looked(ids, weights[row], None if gates is None else gates[row])
            for row, ids in enumerate(said)
        ]

    def _looked(
        self, ids: tuple[int, ...], weights: Tensor, gates: Tensor | None
    ) -> ImageAttention:
        """Pieces' weights (T, S) and gates (T,) as those of words."""
        groups = words(self.tokenizer.pieces(ids))
        rows, columns = self.encoder.grid
        maps = weights.new_zeros(len(groups), weights.shape[1])  # (W, S)
        for row, (start, end) in enumerate(groups):
            maps[row] = weights[start:end].mean(0)
        maps /= maps.sum(1, keepdim=True).clamp_min(1e-12)
        return ImageAttention(
            words=tuple(self.tokenizer.decode(ids[start:end]).strip() for start, end in groups),
            maps=maps.unflatten(1, (rows, columns)),
            gates=None
            if gates is None
            else gates.new_tensor([gates[a:b].mean() for a, b in groups]),
            entropy=-torch.special.xlogy(maps, maps).sum(1),
            read=self.read_mode,
        )

    def _hypothesis(self, found: Finished) -> Hypothesis:
        return Hypothesis(
            text=self.tokenizer.decode(found.ids).strip(),
            score=found.score,
            log_prob=found.log_prob,
            pieces=self.tokenizer.pieces(found.ids),
            ids=found.ids,
        )


def key(pixels: Tensor) -> str:
    """What random numbers for a picture are seeded with: the same in any batch."""
    return f"{zlib.crc32(pixels.contiguous().cpu().numpy().tobytes()):08x}"


def words(pieces: Sequence[str]) -> list[tuple[int, int]]:
    """First piece and end of each word; a word begins at a piece that begins with U+2581."""
    starts = [n for n, piece in enumerate(pieces) if n == 0 or piece.startswith("\u2581")]
    return list(itertools.pairwise([*starts, len(pieces)]))


def forced(features: Tensor, mask: Tensor, said: Sequence[tuple[int, ...]]) -> Batch:
    """Features (B, S, V) and what was said of them, as a batch for teacher forcing."""
    longest = max(len(ids) for ids in said) + 1
    device = features.device
    ended = [[*ids, END] for ids in said]
    target = torch.tensor([ids + [0] * (longest - len(ids)) for ids in ended], device=device)
    lengths = torch.tensor([len(ids) for ids in ended], device=device)
    begun = torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], 1)
    real = torch.arange(longest, device=device) < lengths[:, None]
    return Batch(features, mask, begun, target, real)
