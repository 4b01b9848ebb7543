"""A run of ``attn translate``: open the models, translate, align, write and report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from attncli.data.lines import Line, TranslatedLine
from attncli.data.streams import Write, open_output
from attncli.data.text.rows import as_rows
from attncli.data.typed import input_chunks
from attncli.documents.document import Document
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions, model_names
from attncli.options.line_streams import ByteProgress, byte_progress, is_away, write_chunks
from attncli.options.pictures import Picture
from attncli.tasks.translate import engine as engines
from attncli.tasks.translate.document_run import Translate, translate_document
from attncli.tasks.translate.engine import Precision
from attncli.tasks.translate.line_languages import LineLanguages
from attncli.tasks.translate.line_plans import DOCUMENT, EVERYDAY, ROWS
from attncli.tasks.translate.lines import translate_lines
from attncli.tasks.translate.output.checks import REPORTED, OutputReport
from attncli.tasks.translate.output.writers import TranslationLayout, rendered
from attncli.tasks.translate.settings import TranslateTables
from attncli.terminal.messages import Messages
from attncli.terminal.screen import Screen
from models.base.errors import ConfigurationError
from models.text.glossary import Glossary

if TYPE_CHECKING:
    from attncli.tasks.translate.tags import AlignTranslations
    from models.inference.text_translator import TextTranslator
    from models.inference.translator import Translator


class TranslateWork(NamedTuple):
    """Models and settings of a translation, before the models are opened."""

    models: Sequence[Path] | None
    options: OpenOptions
    tables: TranslateTables
    precision: Precision
    verbatim: bool
    keep_tags: bool
    glossary: Glossary | None


def open_translator(
    work: TranslateWork, *, document: Document | None, aligned: bool
) -> TextTranslator:
    """Open the model, or the ensemble of several, with the glossary if there is one.

    aligned: True if the outputs will be aligned.
    """
    needs = _needs_torch(work, document, aligned)
    engine = engines.EngineOptions(work.tables.compute.backend, work.precision, needs)
    translator = engines.open_text_models(work.models, work.options, engine)
    return translator.with_glossary(work.glossary) if work.glossary else translator


def _needs_torch(work: TranslateWork, document: Document | None, aligned: bool) -> str:
    """Return the option that only torch supports, for messages; "" if there is none."""
    if work.glossary:
        return "--glossary"
    if document:
        from attncli.tasks.translate.documents import needs_attention

        if needs_attention(document):
            return "inline markup"
    return "--keep-tags" if work.keep_tags else "an alignment" if aligned else ""


def line_languages(translator: TextTranslator, options: OpenOptions) -> LineLanguages:
    """Return the recogniser of the language of lines: the shipped language identifier."""
    classifier = loading.open_classifier(None, replace(options, read_mode=None))
    return LineLanguages(classifier, translator.to)


def translation_of_lines(
    work: TranslateWork,
    translator: TextTranslator,
    languages: LineLanguages | None,
    *,
    is_document: bool,
) -> Translate:
    """Return the function that translates chunks of lines, or of the texts of a document."""
    inputs = translator.inputs
    if inputs and (is_document or work.keep_tags):
        raise ConfigurationError(
            f"{'a document' if is_document else '--keep-tags'} for a model of several inputs",
            f"rows of {', '.join(inputs)}, separated by tabs, or JSON objects with these names",
            "leave it out",
        )
    usual = ROWS if inputs else DOCUMENT if is_document else EVERYDAY
    if "split_above" in work.options.search:
        usual = replace(usual, split_above=None)
    if work.verbatim:
        usual = replace(usual, everyday=False)
    run = partial(
        translate_lines,
        translator=translator,
        options=usual if inputs else replace(usual, long_lines=work.tables.text.long_lines),
        max_batch_tokens=work.tables.compute.batch_tokens,
        aligner=_tag_aligner(translator) if work.keep_tags or is_document else None,
        languages=languages,
    )

    def run_of_rows(chunks: Iterable[list[Line]], **options: Any) -> Iterator[list[TranslatedLine]]:
        return run(as_rows(chunks, inputs, translator.fault), **options)

    return run_of_rows if inputs else run


def _tag_aligner(translator: TextTranslator) -> AlignTranslations:
    from attncli.tasks.translate.tags import token_weights

    return partial(token_weights, _in_torch(translator)[0])


def with_attention(
    run: Translate,
    work: TranslateWork,
    translator: TextTranslator,
    overrides: Mapping[str, Any],
    *,
    heads: bool,
) -> Translate:
    """Return a translation that adds the alignment by each model to each output.

    heads: True adds the weights of every head. The jobs are imported here, so that a plain
    translation starts faster.
    """
    from attncli.tasks.align.pairs import aligner_of
    from attncli.tasks.translate.alignment import with_alignments

    models = work.models or ()
    names = model_names(models) if len(models) > 1 else [""]
    size = work.tables.compute.batch_tokens
    aligners = [
        aligner_of(one, overrides, name=name, heads=heads, max_batch_tokens=size)
        for name, one in zip(names, _in_torch(translator), strict=True)
    ]
    return lambda chunks, **options: with_alignments(run(chunks, **options), aligners)


def _in_torch(translator: TextTranslator) -> tuple[Translator, ...]:
    """Return the models that translate; torch runs them because attention weights are needed."""
    alone = (cast("Translator", translator),)
    return cast("tuple[Translator, ...]", getattr(translator, "members", alone))


class ShownLines(NamedTuple):
    """Layout of the lines, and the pictures drawn of them."""

    layout: TranslationLayout
    picture: Picture
    screen: Screen | None = None  # for heat maps among the lines


def write_translations(
    run: Translate,
    source: BinaryIO | Document,
    output: Path | None,
    shown: ShownLines,
    messages: Messages,
) -> bool:
    """Translate and write the lines of a stream, or a document; return True if all could be."""
    away = is_away(output)
    if isinstance(source, Document):
        with open_output(output) as write:
            return translate_document(source, run, write, messages, shown=away)
    shows = away and not source.isatty()
    with (
        open_output(output) as write,
        byte_progress("translating", source, shown=shows) as progress,
    ):
        results = run(progress.read(input_chunks(source)), on_batch=progress.show_share)
        refused = _write_all(results, shown, write, progress, messages)
    shown.picture.draw()
    return not refused


def _write_all(
    results: Iterable[list[TranslatedLine]],
    shown: ShownLines,
    write: Write,
    progress: ByteProgress,
    messages: Messages,
) -> int:
    """Write and report lines as they finish; return the number of refused lines."""
    refused = 0
    report = OutputReport()
    for outcomes in write_chunks(results, partial(_rows, shown=shown), write, progress):
        shown.picture.take(pair for outcome in outcomes for pair in outcome.alignments[:1])
        for message in report.messages(outcomes):
            messages.warn(message)
        refused += sum(outcome.translation is None for outcome in outcomes)
    for message in report.totals(above=REPORTED):
        messages.warn(message)
    return refused


def _rows(outcomes: list[TranslatedLine], shown: ShownLines) -> bytes:
    """Return the rows of some lines; with heat maps, each row is followed by its own."""
    if shown.screen is None:
        return rendered(outcomes, shown.layout)
    from attncli.render.alignment.writers import Style, written

    style, rows = Style(screen=shown.screen), b""
    for outcome in outcomes:
        best = filter(shown.picture.drawing.wants, outcome.alignments[:1])
        rows += rendered([outcome], shown.layout) + written(list(best), "terminal", style)
    return rows
