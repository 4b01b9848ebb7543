"""A trained text model in use: texts in, typed results out."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from models.bundle import Bundle, read
from models.config import MAX_BATCH_TOKENS, ModelConfig, SearchConfig
from models.errors import ModelError
from models.inference.search import Finished, search
from models.languages import check_direction, is_zero_shot
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
        self.tokenizer_config = bundle.tokenizer_config
        self.to = ""  # target language of a multilingual model; see `for_direction`
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

    @property
    def languages(self) -> tuple[str, ...]:
        """The target languages of a multilingual model; empty for a model of one direction."""
        return self.tokenizer_config.languages

    def for_direction(self, to: str = "", source: str = "") -> Translator:
        """Return this model with a fixed target language, so that `to` need not be given again.

        source: language of the sources, only checked. Raises ModelError for an unknown language, a
        missing `to`, and for any language if the model has a single direction.
        """
        other = copy.copy(self)
        other.to = check_direction(self.tokenizer_config, to or self.to, source)
        return other

    def is_zero_shot(self, source: str = "") -> bool:
        """Return True if no training data had the direction from `source` to `self.to`."""
        return is_zero_shot(self.tokenizer_config, self.to, source)

    def encode(self, text: str, to: str = "") -> list[int]:
        """Return the ids of a source text, target-language token and end mark included.

        to: target language of a multilingual model; without it, that of `for_direction`.
        """
        return self.tokenizer.encode(text, check_direction(self.tokenizer_config, to or self.to))

    def source_length(self, text: str) -> int:
        """Return the number of tokens of a source text, language token and end mark included."""
        return len(self.tokenizer.encode(text)) + bool(self.languages)

    def translate(
        self,
        texts: Iterable[str],
        *,
        to: str | Sequence[str] = "",
        search: SearchConfig | None = None,
        max_batch_tokens: int = MAX_BATCH_TOKENS,
    ) -> list[Translation]:
        """Translate texts, in order. An empty text gives an empty output.

        to: target language of a multilingual model, or one for each text; without it, that of
        `for_direction`. max_batch_tokens: source tokens per batch, padding included.
        Raises ModelError for a text longer than `max_source_length`, and for an unknown language.
        """
        texts = list(texts)
        config = search or self.search
        languages = self._targets(to, len(texts))
        results = [
            Translation(text, (EMPTY,), language)
            for text, language in zip(texts, languages, strict=True)
        ]
        encoded = [
            self.tokenizer.encode(text, language) if text.strip() else []
            for text, language in zip(texts, languages, strict=True)
        ]
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
                results[index] = results[index]._replace(hypotheses=hypotheses)
        return results

    def _targets(self, to: str | Sequence[str], count: int) -> list[str]:
        """Return the target language of each text; empty strings for a model of one direction."""
        given = [to] * count if isinstance(to, str) else list(to)
        if len(given) != count:
            raise ModelError(f"{len(given)} target languages for {count} texts", "one for each")
        checked = {
            name: check_direction(self.tokenizer_config, name or self.to) for name in {*given}
        }
        return [checked[name] for name in given]

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
