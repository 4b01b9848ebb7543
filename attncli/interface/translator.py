"""A translator: one text or many in, one translation or many out, with their alignments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, overload

from attncli.data.panels import AlignedPair
from attncli.data.text.corpus import PairLine
from attncli.interface.results import RankedOutputs, as_list, check_search, framed
from attncli.render.alignment.data import html
from attncli.render.alignment.terminal import heat_maps
from attncli.tasks.align.pairs import drawn
from attncli.terminal.screen import current_screen
from models.alignment import Alignment, align, align_translations, head_weights
from models.base.errors import InputError
from models.base.types import Translation
from models.config import MAX_BATCH_TOKENS, SearchConfig
from models.inference.translator import Translator as TextModel

ROW, HEAD = 28, 260  # pixels of a row of a heat map, and of what is above it


class DrawnPair:
    """A result with an alignment, which shows itself."""

    @property
    def aligned_pair(self) -> AlignedPair:
        """The alignment in the form of the writers of pictures."""
        raise NotImplementedError

    @property
    def picture(self) -> str:
        """The heat map for a terminal: rows are words of the translation."""
        return heat_maps(self.aligned_pair, current_screen())

    def _repr_html_(self) -> str:
        """Return the heat map that can be pointed at, for a notebook."""
        pair = self.aligned_pair
        return framed(html([pair]), HEAD + ROW * len(pair.target))


class TranslatedText(DrawnPair, RankedOutputs, Translation):
    """A text and its translations, best first. `print(result.picture)` draws the attention.

    It is a `models.base.types.Translation`: source, hypotheses, to.
    """

    model: Translator

    @cached_property
    def alignment(self) -> Alignment:
        """Words of both sides, links, and weights (J, I) of each word on each source word."""
        [found] = align_translations(self.model, [self], config=self.model.word_alignment)
        return found

    @cached_property
    def aligned_pair(self) -> AlignedPair:
        """The alignment with the weights of every layer and head, for the writers of pictures."""
        [heads] = head_weights(self.model, [self], config=self.model.word_alignment)
        weights = None if heads is None else heads.numpy()
        return drawn(PairLine(1, self.source, self.text), self.alignment, heads=weights)


class AlignedText(DrawnPair, Alignment):
    """The alignment of a given pair: source, target, weights (J, I), links, score."""

    @property
    def aligned_pair(self) -> AlignedPair:
        """The alignment without weights of heads."""
        return drawn(PairLine(1, " ".join(self.source), " ".join(self.target)), self)


class Translator(TextModel):
    """A `models.inference.translator.Translator` whose results show themselves."""

    @overload  # type: ignore[override]
    def translate(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        to: str | list[str] = ...,
        source: str | list[str] = ...,
        search: SearchConfig | None = ...,
        max_batch_tokens: int = ...,
    ) -> TranslatedText: ...

    @overload
    def translate(
        self,
        texts: Iterable[str],
        *,
        to: str | list[str] = ...,
        source: str | list[str] = ...,
        search: SearchConfig | None = ...,
        max_batch_tokens: int = ...,
    ) -> list[TranslatedText]: ...

    def translate(
        self,
        texts: str | Iterable[str],
        *,
        to: str | Sequence[str] = "",
        source: str | Sequence[str] = "",
        search: SearchConfig | None = None,
        max_batch_tokens: int = MAX_BATCH_TOKENS,
    ) -> TranslatedText | list[TranslatedText]:
        """Translate a text, or many: one in, one out; a list in, a list out.

        to: target language of a multilingual model, or one for each text. source: language of the
        texts, or one for each; a direction without training data then goes through a third
        language. search: settings; the default is `self.search`. Raises ModelError for a text that
        is longer than the model takes.
        """
        check_search(search)
        for languages in (to, source):
            as_list(languages, "language")
        found = super().translate(
            as_list(texts), to=to, source=source, search=search, max_batch_tokens=max_batch_tokens
        )
        results = [self._result(translation) for translation in found]
        return results[0] if isinstance(texts, str) else results

    def align(
        self, source: str | Iterable[str], target: str | Iterable[str], *, to: str = ""
    ) -> AlignedText | list[AlignedText]:
        """Align a text with its translation, or many with theirs.

        to: language of the translations, of a multilingual model.
        """
        model = self.for_direction(to) if to else self
        sources, targets = as_list(source), as_list(target)
        if len(sources) != len(targets):
            raise InputError(f"{len(targets)} translations of {len(sources)} texts", "one for each")
        pairs = list(zip(sources, targets, strict=True))
        found = [AlignedText._make(one) for one in align(model, pairs, config=self.word_alignment)]
        return found[0] if isinstance(source, str) else found

    @property
    def word_alignment(self) -> Any:
        """The alignment settings of the model, with words as units."""
        return replace(self.alignment, units="word")

    def _result(self, translation: Translation) -> TranslatedText:
        result = TranslatedText._make(translation)
        result.model = self
        return result
