"""The one way from lines to translations, behind every door: commands, Python, service, training.

    runner = TranslateRunner.open(models, TranslateOptions(to="de"))
    for results in runner.run(chunks): ...

One engine searches for every door. Attention is computed afterwards, by torch, from the outputs, so
that asking for more never changes an output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from attncli.data.tables import as_rows
from attncli.faithful.plan import Plan
from attncli.faithful.result import Line, TranslatedLine, text_line
from attncli.faithful.steer import alternatives, steered
from attncli.options import loading
from attncli.options.loading import model_names
from attncli.render.alignment import heat_maps, inputs_of, linked, page, record_of
from attncli.render.rows import InputCells, OutputCells, RowRunner, hypothesis_record
from attncli.task.runner import JsonObject
from attncli.terminal.messages import counted, current_screen, one_cell
from attncli.translate import engine as engines
from attncli.translate._alignment import token_weights
from attncli.translate.chunks import by_line, translate_lines
from attncli.translate.engine import AUTO, LineSettings, TranslateOptions
from attncli.translate.memory import TranslateChunks, TranslationMemory
from attncli.translate.reports import OutputReport
from models.core.errors import ConfigurationError
from models.core.settings import merged
from models.core.types import EMPTY, Translation
from models.search.repeats import repetition
from models.storage.installed import default_model
from models.text.languages import Glossary, Term
from models.text.lexicon import ALWAYS, LexiconEntry, grouped

if TYPE_CHECKING:
    from attncli.align.pairs import Aligner
    from attncli.task.panels import AlignedPair
    from models.engines.text_translator import TextTranslator
    from models.engines.translator import Translator
    from models.search.steering import Alternative

RecogniseLines = Callable[[Sequence[Line]], list[str]]  # the language of each line of a chunk


class TranslateRunner(RowRunner[Line, TranslatedLine, "TextTranslator", TranslateOptions]):
    """Models that translate lines. `run` is the only way to a translation."""

    task = shipped = "translate"
    doing, unit, into, options_of = "translating", "sentence", "translation", TranslateOptions
    documents, item = "attn translate -i", staticmethod(text_line)
    load = staticmethod(engines.load)

    def __init__(
        self,
        model: TextTranslator,
        options: TranslateOptions | None = None,
        *,
        languages: RecogniseLines | None = None,
    ) -> None:
        """Raise ConfigurationError for tags and documents with a model of several inputs.

        languages: see `translate_lines`.
        """
        self.model, self.options = model, options or TranslateOptions()
        self.languages = languages
        self.remembered = 0  # lines that were found in the translation memory
        self.recognised: Counter[str] = Counter()  # lines by a language that nobody gave
        self.failing = False  # True if an output has failed a check
        if model.inputs and (self.options.document or self.options.keep_tags):
            raise ConfigurationError(
                f"{'a document' if self.options.document else '--keep-tags'} for a model of "
                "several inputs",
                f"rows of {', '.join(model.inputs)}, separated by tabs, or JSON objects with "
                "these names",
                "leave it out",
            )

    @classmethod
    def of(cls, model: TextTranslator, options: TranslateOptions) -> TranslateRunner:
        """Return the runner of a model."""
        recognises = options.source == AUTO
        opening = replace(options, source="") if recognises else options
        translator = loading.configured(model, opening)
        if options.text.address:
            translator = translator.with_address(options.text.address)
        if options.glossary:
            terms = tuple(Term(*term) for term in options.glossary)
            translator = translator.with_glossary(Glossary(terms))
        if options.lexicon:
            translator = translator.with_lexicon(
                [
                    (direction, LexiconEntry(form, ALWAYS, candidates))
                    for (direction, form), candidates in grouped(options.lexicon).items()
                ]
            )
        languages = None
        if recognises:
            # imported here because other translations then start faster
            from attncli.classify.languages import LineLanguages
            from attncli.classify.runner import ClassifyOptions, ClassifyRunner

            given = ClassifyOptions(options.device, options.threads, messages=options.messages)
            classifier = ClassifyRunner.open(None, given)
            languages = LineLanguages(classifier.model, translator.to)
        runner = cls(translator, options, languages=languages)
        assert runner._backward if options.back else True  # raises without that direction
        return runner

    def run(
        self, chunks: Iterable[Sequence[Line]], *, weights: bool = False
    ) -> Iterator[list[TranslatedLine]]:
        """Translate chunks of lines, or of rows; yield the results of each chunk when it is done.

        weights: True adds the alignment by each model to each output.
        """
        if self.model.inputs and not self.options.ordered:
            chunks = as_rows(chunks, self.model.inputs, self.model.fault)
        return self._translated(chunks, weights)

    def results(
        self, texts: Iterable[str], *, on_batch: Callable[[int, int], None] | None = None
    ) -> list[TranslatedLine]:
        """Translate texts, or rows in the order of the model's inputs, as one chunk."""
        self.on_batch = on_batch or self.on_batch
        lines = [Line(number, text) for number, text in enumerate(texts, 1)]
        [found] = self._translated([lines], False)
        return found

    def alternatives(self, line: Line, count: int) -> list[Alternative]:
        """Return the words that the translation of a line can go on with, behind its prefix.

        Raises ModelError for a line that cannot be steered.
        """
        return alternatives(steered(Plan.of(line, self.model, self.options.plan)), count)

    def _translated(
        self, chunks: Iterable[Sequence[Line]], weights: bool
    ) -> Iterator[list[TranslatedLine]]:
        options = self.options
        if options.prefix or options.look:
            chunks = ([_steered(line, options) for line in chunk] for chunk in chunks)
        if self.model.inputs:  # a row is not text
            options = replace(options, verbatim=True, text=LineSettings(long_lines="refuse"))
        has_tags = options.keep_tags or options.document
        translated: TranslateChunks = partial(
            translate_lines,
            translator=self.model,
            options=options,
            aligner=(lambda found: token_weights(self.in_torch[0], found)) if has_tags else None,
            languages=self.languages,
            on_batch=self.on_batch,
        )
        if options.memory:
            memory = TranslationMemory(options.memory, self.model.source_language, self.model.to)
            translated = partial(memory.first, translate=translated)
        found = translated(chunks) if options.verbatim else by_line(chunks, translated)
        if weights:
            from attncli.translate._aligned import with_alignments  # imports torch

            found = with_alignments(found, self._aligners)
        for results in found:
            self.failing = self.failing or any(one.checks for one in results)
            self.remembered += sum(bool(one.memory) for one in results)
            if not (self.languages or self.model.source_language):
                starts = (one.parts[0].language for one in results if one.parts)
                self.recognised.update(filter(None, starts))
            results = self._with_back(results) if options.back else results
            yield [replace(one, by=self) for one in results]

    def weighed(self, result: TranslatedLine) -> TranslatedLine:
        """Return a result with the alignment by each model; a text that was copied has no links."""
        from attncli.translate._aligned import with_alignments  # imports torch

        if result.alignments:
            return result
        if not result.parts:
            none = Translation(result.source, (EMPTY,), result.to)
            result = replace(result, parts=(none,), stand_ins=((),))
        [[found]] = with_alignments([[result]], self._aligners)
        return found

    def _with_back(self, results: Sequence[TranslatedLine]) -> list[TranslatedLine]:
        """Return results with their outputs translated back: a changed sense shows there."""
        [found] = self._backward.run([[Line(one.line.number, one.text) for one in results]])
        return [replace(one, back=other.text) for one, other in zip(results, found, strict=True)]

    @cached_property
    def _backward(self) -> TranslateRunner:
        """The runner from the target to the source language, without terms of the target."""
        model, directions = self.model, self.model.tokenizer_config.directions
        sources = [way.partition("-")[0] for way in directions if way.endswith(f"-{model.to}")]
        if len(sources) != 1 and not model.source_language:
            raise ConfigurationError(
                f"--back to one of {len(sources)} source languages",
                "a model of both directions, and the language of the lines",
                "give it with --from" if sources else "",
            )
        other = model.for_direction(model.source_language or sources[0], model.to)  # a copy
        other.glossary, other.address = None, ""
        return TranslateRunner(other, TranslateOptions(compute=self.options.compute))

    def cells(self, result: TranslatedLine) -> InputCells:
        """Return a line and its outputs: n-best lists as in Moses, links behind as in Marian."""
        links, outputs = self.options.links, []
        for rank, hypothesis in enumerate(result.hypotheses):
            found = ""
            if pair := links and result.alignments and result.alignments[rank]:
                found = linked(pair.panels[0], 0, probabilities=False)
            suffix = f" ||| {found}" if pair else ""
            columns = (found,) if links else ()
            if self.options.back and not rank:
                suffix, columns = f"{suffix}\t{one_cell(result.back)}", (*columns, result.back)
            outputs.append(OutputCells(hypothesis.text, f"{hypothesis.score:.4f}", columns, suffix))
        missing = OutputCells(columns=("",) if links else ())
        return InputCells(result.line.text, outputs or [missing], result.line.number)

    def record(self, result: TranslatedLine) -> JsonObject:
        """Return a line with its translations; log_prob is the natural logarithm."""
        outputs = [hypothesis_record(one) for one in result.hypotheses]
        for one, output in zip(result.hypotheses, outputs, strict=True):
            if found := repetition(one.text, result.line.text):
                output["repetition"] = {"phrase": found.phrase, "count": found.times}
        for pair, output in zip(result.alignments, outputs, strict=False):
            units = {"source": pair.source, "target": pair.target}
            output["alignment"] = {
                **units,
                **record_of(pair.panels[0]),
                **inputs_of(pair.panels[0]),
            }
        record: JsonObject = {"source": result.line.text, "hypotheses": outputs}
        if self.model.read_mode.startswith("hard"):
            record["read"] = self.model.read_mode
        if entries := [entry for part in result.parts for entry in self._entries(part)]:
            record["entries"] = entries
        if self.options.back:
            record["back"] = result.back
        if result.memory:
            record["memory"] = result.memory
        if result.confidence:
            record["confidence"] = round(result.confidence.value, 4)
        if why := result.doubt:
            record["doubt"] = why
        if result.checks:
            record["checks"] = [check._asdict() for check in result.checks]
        return record if result.translation else {**record, "error": result.note}

    def _entries(self, part: Translation) -> list[JsonObject]:
        """Return the entries of the lexicon that were read in a part of a line."""
        text = part.source
        read = self.model.read_with_entries(text, part.to, part.language)[1]
        return [{"form": text[one.start : one.end], "candidates": one.candidates} for one in read]

    def heat_map(self, result: TranslatedLine) -> str:
        """Return the alignment of the best output of a line."""
        screen = current_screen()
        return "".join(heat_maps(pair, screen) for pair in result.alignments[:1])

    def page(self, result: TranslatedLine) -> tuple[bytes, int]:
        """Return the heat map of the best output that can be pointed at."""
        return page(result.alignment)

    def drawn(self, result: TranslatedLine) -> Sequence[AlignedPair]:
        """Return the alignment of the best output of a line."""
        return result.alignments[:1]

    def text(self, result: TranslatedLine) -> str | None:
        """Return the best output."""
        return result.translation and result.translation.text

    def notes(self, result: TranslatedLine) -> Iterator[str]:
        """Yield the note about a line, and what is suspicious about its best output."""
        yield result.note
        yield from OutputReport().messages([result])

    @property
    def summary(self) -> str:
        """Return how many lines were read in another language, copied, or found in the memory."""
        read = ", ".join(
            f"{counted(n, 'line')} read as {one}" for one, n in self.recognised.items()
        )
        found = f"{counted(self.remembered, 'line')} from the translation memory"
        copied = getattr(self.languages, "summary", "")
        read = read and f"{read}: --from LANGUAGE gives another"
        return "; ".join(filter(None, (read, copied, found if self.remembered else "")))

    @cached_property
    def in_torch(self) -> tuple[Translator, ...]:
        """The models in torch, which computes attention weights; opened when they are needed."""
        return self.model.in_torch()

    @cached_property
    def _aligners(self) -> list[Aligner]:
        from attncli.align.pairs import Aligner

        own, heads = self.options.of("align"), self.options.heads
        batch = self.options.compute.batch_tokens
        titles = [""]
        if self.folders is not None:
            titles = model_names(self.folders or [default_model("translate")])
        names = titles if len(titles) > 1 else [""]
        return [
            Aligner(one, merged(one.alignment, own), None, name, heads, batch, model=title)
            for name, title, one in zip(names, titles, self.in_torch, strict=True)
        ]


def _steered(line: Line, options: TranslateOptions) -> Line:
    """Return a line with the prefix and the looks of the options, unless it has its own."""
    if line.prefix or line.looks:
        return line
    return line._replace(prefix=options.prefix, looks=options.look)
