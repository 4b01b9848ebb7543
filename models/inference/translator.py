"""A trained text model ready for use: texts in, translations with scores out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import torch

from models.base.errors import ConfigurationError
from models.base.types import Memory
from models.bundle import Bundle
from models.config.tables import SearchConfig
from models.inference.search import rounded_output
from models.inference.search.backend import Backend
from models.inference.search.batching import pad
from models.inference.search.beam import search
from models.inference.search.constrained import constrained_search, with_phrases
from models.inference.search.hypotheses import Finished, length_limit
from models.inference.search.joined_search import JoinedSearch
from models.inference.search.shortlist import ShortlistBackend, TokensOfColumns
from models.inference.text_translator import EncodedText, TextTranslator
from models.inference.trained import TorchModel
from models.numerics.packed import PackedWeights, packed_weights
from models.storage.shortlist import Shortlist

if TYPE_CHECKING:
    from typing_extensions import Self

K = TypeVar("K", bound=Hashable)


class Translator(TorchModel, TextTranslator):
    """A text model on a device. Its output for a text does not depend on the batch."""

    source = "text"
    bf16 = False  # True if the output layer computes in bf16; see `with_bf16`

    def __init__(self, bundle: Bundle, device: str = "cpu") -> None:
        super().__init__(bundle, device)
        self.tokenizer_config, self.alignment = bundle.tokenizer_config, bundle.alignment
        self.statistical, self.shortlists = bundle.statistical, bundle.shortlists

    def with_search(self, search: SearchConfig) -> Self:
        """Return this model with other default search settings; the weights are shared.

        Raises ConfigurationError for a shortlist that the model does not have.
        """
        if search.shortlist and (self.to or not self.languages):
            self._shortlist(self.to)
        return super().with_search(search)

    def with_bf16(self) -> Self:
        """Return this model with an output layer in bf16 for search; the weights are shared.

        The model must be on a processor for which `has_fast_bf16` is true; see
        search/rounded_output.py. Raises ConfigurationError if the default search settings
        are for samples or a shortlist.
        """
        rounded_output.check_search(self.search)
        other = copy.copy(self)
        other.bf16 = True
        return other

    def memory(self, sources: Sequence[EncodedText]) -> Memory:
        """Return the memory of encoded texts, padded to the longest."""
        return self.model.encode(*pad([each.ids for each in sources], self.device))

    @torch.inference_mode()
    def _search(self, sources: Sequence[EncodedText], config: SearchConfig) -> list[list[Finished]]:
        """Return the best outputs of each source; with a shortlist, all have one language.

        Outputs without the phrases of the glossary are searched over the whole vocabulary.
        """
        backend, config = self._backend(sources[0].to, config)
        limits = [length_limit(len(each.ids), config) for each in sources]
        keys = [each.text for each in sources]
        phrases, columns = self._phrases(sources, config), TokensOfColumns()
        with packed_weights(self.model):
            memory = backend.encode(*pad([each.ids for each in sources], self.device))
            columns.add(range(len(sources)), memory)
            listed = enumerate(search(backend, memory, limits, keys, config))
        found = [outputs for _, outputs in columns.restored(listed)]

        def search_again(number: int) -> list[Finished]:
            memory = self.memory([sources[number]])
            return constrained_search(self.model, memory, limits[number], phrases[number], config)

        return with_phrases(found, phrases, search_again)

    def _searched(
        self, sources: Sequence[EncodedText], batches: list[list[int]], config: SearchConfig
    ) -> Iterator[list[tuple[int, list[Finished]]]]:
        """Yield indices and outputs; with shortlists, each target language is searched alone.

        Sources that a shortlist does not cover are searched over the whole vocabulary.
        """
        groups = {(config.shortlist, ""): batches}
        if config.shortlist:
            groups = grouped(batches, lambda index: self._list_of(sources[index]))
        for (listed, _), group in groups.items():
            config = replace(config, shortlist=listed)
            if config.method == "sample" or self.glossary is not None:
                yield from super()._searched(sources, group, config)
            else:
                yield from self._searched_jointly(sources, group, config)

    def _searched_jointly(
        self, sources: Sequence[EncodedText], batches: list[list[int]], config: SearchConfig
    ) -> Iterator[list[tuple[int, list[Finished]]]]:
        """Yield indices and outputs; the last sentences of all batches are searched together."""
        backend, config = self._backend(sources[batches[0][0]].to if batches else "", config)
        searches, columns = JoinedSearch(backend, config), TokensOfColumns()
        packed = PackedWeights(self.model)
        for batch in batches:
            with torch.inference_mode(), packed.used():
                chosen = [sources[index] for index in batch]
                limits = [length_limit(len(each.ids), config) for each in chosen]
                memory = backend.encode(*pad([each.ids for each in chosen], self.device))
                columns.add(batch, memory)
                found = searches.add(memory, limits, batch)
            yield columns.restored(found)
        with torch.inference_mode(), packed.used():
            found = searches.finish()
        yield columns.restored(found)

    def _backend(self, to: str, config: SearchConfig) -> tuple[Backend, SearchConfig]:
        """Return what is searched, the model or its shortlist, and the settings of the search."""
        if self.bf16:
            rounded_output.check_search(config)
            return rounded_output.RoundedBackend(self.model), config
        if not config.shortlist:
            return self.model, config
        return ShortlistBackend(self.model, self._shortlist(to)), replace(config, shortlist=False)

    def _list_of(self, source: EncodedText) -> tuple[bool, str]:
        """Return False for a source that the shortlist does not cover; and its target language."""
        return (True, source.to) if self._shortlist(source.to).covers(source.ids) else (False, "")

    def _shortlist(self, to: str) -> Shortlist:
        """Return the shortlist of a target language; raise ConfigurationError if there is none."""
        if to not in self.shortlists:
            language = f" for target language {to}" if to else ""
            raise ConfigurationError(
                f"a search by shortlist{language}, but the model has none",
                "a model with one",
                "make it with `attn models shortlist`",
            )
        return self.shortlists[to]


def grouped(batches: Sequence[Sequence[int]], key: Callable[[int], K]) -> dict[K, list[list[int]]]:
    """Return the batches of the indices of each key."""
    found: dict[K, list[list[int]]] = {}
    for batch in batches:
        parts: dict[K, list[int]] = {}
        for index in batch:
            parts.setdefault(key(index), []).append(index)
        for one, part in parts.items():
            found.setdefault(one, []).append(part)
    return found
