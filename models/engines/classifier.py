"""A trained classifier ready for use: texts in, labels with probabilities and word weights out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from models.core.config import MAX_BATCH_TOKENS
from models.core.errors import InputError
from models.core.types import Classification, LabelProbability, WordWeight
from models.engines.trained import TorchModel
from models.networks.decoder import Wanted
from models.search.batching import in_order, length_batches, pad, windows
from models.text.tokenizer import START, LabelTokenizer
from models.text.units import units

WINDOW = 2000  # texts that are read ahead and batched by length


class Classifier(TorchModel):
    """A classifier on a device. Its output for a text does not depend on the batch."""

    source = "labelled_text"
    tokenizer: LabelTokenizer

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the model can predict."""
        return self.tokenizer.labels

    @property
    def max_source_length(self) -> int:
        """Maximum length of a text in tokens."""
        return self.config.max_source

    def source_length(self, text: str) -> int:
        """Return the length of a text in tokens."""
        return len(self.tokenizer.encode(text))

    def classify(
        self, texts: Iterable[str], *, nbest: int = 1, attention: bool = False
    ) -> list[Classification]:
        """Classify texts; see `stream`."""
        return list(self.stream(texts, nbest=nbest, attention=attention))

    def stream(
        self,
        texts: Iterable[str],
        *,
        nbest: int = 1,
        attention: bool = False,
        max_batch_tokens: int = MAX_BATCH_TOKENS,
        window: int = WINDOW,
    ) -> Iterator[Classification]:
        """Classify texts; yield each result as soon as it and all before it are done.

        Memory stays constant: at most `window` texts are read ahead, and batched by length. An
        empty text has no label, and the model is not called. nbest: labels per text, most probable
        first. attention: True adds the weight of each word. max_batch_tokens: tokens per batch,
        padding included. Raises InputError for a text longer than `max_source_length`.
        """
        done = 0
        for group in windows(texts, window):
            encoded = [self._encoded(text, number) for number, text in enumerate(group, done + 1)]
            yield from in_order(self._by_length(group, encoded, nbest, attention, max_batch_tokens))
            done += len(group)

    def _encoded(self, text: str, number: int) -> list[int]:
        ids = self.tokenizer.encode(text) if text.strip() else []
        if len(ids) > self.max_source_length:
            raise InputError(
                f"text {number} has {len(ids)} tokens",
                f"at most {self.max_source_length}",
                "split it into sentences",
            )
        return ids

    def _by_length(
        self,
        texts: Sequence[str],
        encoded: Sequence[list[int]],
        nbest: int,
        attention: bool,
        max_batch_tokens: int,
    ) -> Iterator[tuple[int, Classification]]:
        """Yield the index and the result of each text, batch by batch."""
        for index, ids in enumerate(encoded):
            if not ids:
                yield index, Classification(texts[index], ())
        for batch in length_batches([*map(len, encoded)], max_tokens=max_batch_tokens):
            pooled = self._pooled([encoded[index] for index in batch])
            for index, probabilities, weights in zip(batch, *pooled, strict=True):
                top = probabilities.topk(min(nbest, len(self.labels)))
                best = zip(top.indices.tolist(), top.values.tolist(), strict=True)
                labels = (LabelProbability(self.labels[number], value) for number, value in best)
                result = Classification(texts[index], tuple(labels))
                if attention:
                    written = self.tokenizer.normalise(result.text)
                    found = units(self.tokenizer.source, encoded[index], written, marks=True)
                    own = weights[:, : len(encoded[index])] @ found.shares  # (1 + H, W)
                    mean, *heads = own.tolist()
                    words = tuple(map(WordWeight, found.texts, mean))
                    result = result._replace(words=words, heads=tuple(map(tuple, heads)))
                yield index, result

    @torch.inference_mode()
    def _pooled(self, sources: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
        """Return the probabilities (B, Y) and the weights (B, 1 + H, S) of texts as token ids.

        The weights are the mean of the heads, and those of each of several heads.
        """
        prepared, state = self.model.start(self.model.encode(*pad(sources, self.device)))
        first = torch.full((len(sources),), START, device=self.device)
        step = self.model.step(first, state, prepared, want_weights=True)
        assert step.weights is not None
        rows = [step.weights.unsqueeze(1)]  # (B, 1, S)
        if self.model.decoder.attention_shape[1] > 1:
            wanted = Wanted(heads=(0,))
            heads = self.model.decoder.advance(first[:, None], state, prepared, wanted).heads
            assert heads is not None
            rows.append(heads[:, 0, :, 0])  # (B, H, S)
        return step.log_probs.exp().cpu(), torch.cat(rows, 1).float().cpu()
