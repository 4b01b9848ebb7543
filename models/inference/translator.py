"""A trained text model in use: texts in, typed results out."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from models.bundle import Bundle, read
from models.config import ModelConfig, SearchConfig
from models.errors import ModelError
from models.inference.search import Finished, search
from models.sources import check_source
from models.tokenizer import PAD, START
from models.types import EMPTY, Batch, Hypothesis, Translation


class Translator:
    """A bundle on a device. `translate` gives the same answer whatever the batch."""

    def __init__(self, bundle: Bundle, device: str = "cpu") -> None:
        check_source(bundle.model.config.family, "text")
        self.model = bundle.model.to(device).eval()
        self.tokenizer = bundle.tokenizer
        self.search = bundle.search
        self.alignment = bundle.alignment
        self.device = torch.device(device)

    @classmethod
    def read(cls, folder: str | Path, *, device: str = "cpu") -> Translator:
        """The model of a bundle folder."""
        return cls(read(Path(folder)), device)

    @property
    def config(self) -> ModelConfig:
        """The model's configuration."""
        return self.model.config

    @property
    def max_source_length(self) -> int:
        """The longest source the model accepts, in pieces with the end mark."""
        return self.config.max_source

    @property
    def read_mode(self) -> str:
        """Read mode of the attention: "soft", "hard argmax", "hard sample" or "hard expected"."""
        return self.model.read_mode

    def with_search(self, search: SearchConfig) -> Translator:
        """Return this model with other default search settings; the weights are shared."""
        other = copy.copy(self)
        other.search = search
        return other

    def with_read_mode(self, decode: str, *, seed: int = 1) -> Translator:
        """The same with its hard attention read in another way: argmax, sample or expected.

        seed: of the samples. A ModelError if the attention is not hard.
        """
        other = copy.copy(self)
        other.model = self.model.with_read_mode(decode, seed=seed)
        return other

    def source_length(self, text: str) -> int:
        """The length of a source text in pieces, end mark included."""
        return len(self.tokenizer.encode(text))

    def translate(
        self,
        texts: Iterable[str],
        *,
        search: SearchConfig | None = None,
        max_batch_tokens: int = 2048,
    ) -> list[Translation]:
        """Translate texts, in order. An empty text gives an empty output.

        max_batch_tokens: source pieces, padding included, that are searched at once.
        Raises ModelError for a text longer than `max_source_length`.
        """
        texts = list(texts)
        config = search or self.search
        results = [Translation(text, (EMPTY,)) for text in texts]
        encoded = [self.tokenizer.encode(text) if text.strip() else [] for text in texts]
        for number, ids in enumerate(encoded, 1):
            if len(ids) > self.max_source_length:
                raise ModelError(
                    f"text {number} has {len(ids)} pieces",
                    f"at most {self.max_source_length}, end mark included",
                    "split it into sentences",
                )
        order = sorted((i for i, ids in enumerate(encoded) if ids), key=lambda i: len(encoded[i]))
        for batch in batches(order, encoded, max_batch_tokens):
            found = self._search([encoded[i] for i in batch], [texts[i] for i in batch], config)
            for index, outputs in zip(batch, found, strict=True):
                hypotheses = tuple(self._hypothesis(output) for output in outputs)
                results[index] = Translation(texts[index], hypotheses)
        return results

    @torch.inference_mode()
    def _search(
        self, sources: list[list[int]], keys: list[str], config: SearchConfig
    ) -> list[list[Finished]]:
        source, mask = padded(sources, self.device)
        limits = [int(len(ids) * config.max_ratio) + config.max_extra for ids in sources]
        return search(self.model, self.model.encode(source, mask), limits, keys, config)

    def _hypothesis(self, found: Finished) -> Hypothesis:
        return Hypothesis(
            text=self.tokenizer.decode(found.ids),
            score=found.score,
            log_prob=found.log_prob,
            pieces=self.tokenizer.pieces(found.ids),
            ids=found.ids,
        )


def batches(order: list[int], encoded: list[list[int]], max_tokens: int) -> Iterator[list[int]]:
    """Indices in ascending order of length, cut where a padded batch would grow too large."""
    batch: list[int] = []
    for index in order:
        if batch and (len(batch) + 1) * len(encoded[index]) > max_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def padded(sentences: list[list[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids (B, S) padded to the longest, and the mask (B, S) of what is real."""
    longest = max(len(ids) for ids in sentences)
    ids = torch.tensor([s + [PAD] * (longest - len(s)) for s in sentences], device=device)
    lengths = torch.tensor([len(s) for s in sentences], device=device)
    return ids, torch.arange(longest, device=device) < lengths[:, None]


def forced(sources: list[list[int]], targets: list[list[int]], device: torch.device) -> Batch:
    """Ids of sentence pairs, end marks included, as a batch for teacher forcing."""
    source, source_mask = padded(sources, device)
    target, mask = padded(targets, device)
    begun = torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], 1)
    return Batch(source, source_mask, begun, target, mask)
