"""The one way from lines to translations, behind every door: commands, Python, service, training.

    runner = TranslateRunner.open(models, TranslateOptions(to="de"))
    for results in runner.run(chunks): ...

One engine searches for every door. Attention is computed afterwards, by torch, from the outputs, so
that asking for more never changes an output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from attncli.classify.languages import LineLanguages
from attncli.data.tables import as_rows
from attncli.faithful.result import Line, TranslatedLine
from attncli.jobs import loading
from attncli.jobs.loading import model_names
from attncli.options.settings import HardAttention
from attncli.translate import engine as engines
from attncli.translate.engine import AUTO, LineSettings, TranslateOptions
from attncli.translate.lines import by_line, translate_lines
from models.core.errors import ConfigurationError
from models.storage.installed import default_model
from models.text.languages import Glossary, Term

if TYPE_CHECKING:
    from attncli.align.pairs import Aligner
    from attncli.faithful.spans import TokenWeights
    from models.core.types import Translation
    from models.engines.text_translator import TextTranslator
    from models.engines.translator import Translator

RecogniseLines = Callable[[list[Line]], list[str]]  # the language of each line of a chunk


class TranslateRunner:
    """Models that translate lines. `run` is the only way to a translation."""

    def __init__(
        self,
        translator: TextTranslator,
        options: TranslateOptions | None = None,
        *,
        languages: RecogniseLines | None = None,
        names: Sequence[str] = ("",),
        titles: Sequence[str] = (),
    ) -> None:
        """Raise ConfigurationError for tags and documents with a model of several inputs.

        languages: see `translate_lines`. names: of the models of an ensemble.
        titles: names of the models for pictures; default: `names`.
        """
        self.translator, self.options = translator, options or TranslateOptions()
        self.languages, self.names, self.titles = languages, names, titles or names
        if translator.inputs and (self.options.document or self.options.keep_tags):
            raise ConfigurationError(
                f"{'a document' if self.options.document else '--keep-tags'} for a model of "
                "several inputs",
                f"rows of {', '.join(translator.inputs)}, separated by tabs, or JSON objects with "
                "these names",
                "leave it out",
            )

    @classmethod
    def open(cls, models: Sequence[Path] | None, options: TranslateOptions) -> TranslateRunner:
        """Open a model, the ensemble of several, or the model in the box without any."""
        recognises = options.source == AUTO
        opening = replace(options, source="") if recognises else options
        translator = engines.open_text_models(models, opening)
        if options.glossary:
            terms = tuple(Term(*term) for term in options.glossary)
            translator = translator.with_glossary(Glossary(terms))
        languages = None
        if recognises:
            opening = replace(opening, attention=HardAttention())
            classifier = loading.open_model("classify", None, opening)  # the shipped one
            languages = LineLanguages(classifier, translator.to)
        titles = model_names(models or [default_model("translate")])
        names = titles if len(titles) > 1 else [""]
        return cls(translator, options, languages=languages, names=names, titles=titles)

    def run(
        self,
        chunks: Iterable[list[Line]],
        *,
        weights: bool = False,
        on_batch: Callable[[int, int], None] = lambda done, total: None,
    ) -> Iterator[list[TranslatedLine]]:
        """Translate chunks of lines, or of rows; yield the results of each chunk when it is done.

        weights: True adds the alignment by each model to each output. on_batch: called after each
        batch with the number of texts of the chunk that are done, and of all its texts.
        """
        if self.translator.inputs:
            chunks = as_rows(chunks, self.translator.inputs, self.translator.fault)
        return self._translated(chunks, weights, on_batch)

    def results(
        self,
        texts: Iterable[str],
        *,
        on_batch: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[TranslatedLine]:
        """Translate texts, or rows in the order of the model's inputs, as one chunk."""
        lines = [Line(number, text) for number, text in enumerate(texts, 1)]
        [found] = self._translated([lines], False, on_batch)
        return found

    def _translated(
        self, chunks: Iterable[list[Line]], weights: bool, on_batch: Callable[[int, int], None]
    ) -> Iterator[list[TranslatedLine]]:
        options = self.options
        if self.translator.inputs:  # a row is not text
            options = replace(options, verbatim=True, text=LineSettings(long_lines="refuse"))
        translated = partial(
            translate_lines,
            translator=self.translator,
            options=options,
            aligner=self._token_weights if options.keep_tags or options.document else None,
            languages=self.languages,
            on_batch=on_batch,
        )
        found = translated(chunks) if options.verbatim else by_line(chunks, translated)
        if not weights:
            return found
        from attncli.translate.alignment import with_alignments

        return with_alignments(found, self._aligners)

    @property
    def summary(self) -> str:
        """Return how many lines were copied because of their language; "" if there were none."""
        return getattr(self.languages, "summary", "")

    @cached_property
    def in_torch(self) -> tuple[Translator, ...]:
        """The models in torch, which computes attention weights; opened when they are needed."""
        return self.translator.in_torch()

    @cached_property
    def _aligners(self) -> list[Aligner]:
        from attncli.align.pairs import aligner_of

        own, heads = self.options.of("align"), self.options.heads
        size = self.options.compute.batch_tokens
        return [
            aligner_of(model, own, name=name, model=title, heads=heads, max_batch_tokens=size)
            for name, title, model in zip(self.names, self.titles, self.in_torch, strict=True)
        ]

    def _token_weights(self, translations: list[Translation]) -> list[TokenWeights]:
        from attncli.translate.alignment import token_weights

        return token_weights(self.in_torch[0], translations)
