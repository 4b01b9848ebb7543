"""A run of ``attn translate``: open the models, translate, align, write and report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, NamedTuple, cast

from attncli.data.lines import Line, TranslatedLine
from attncli.data.streams import open_output
from attncli.data.text.rows import as_rows
from attncli.documents.document import Document
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions, model_names
from attncli.options.line_streams import LineWriter, is_away, write_lines
from attncli.options.pictures import Drawing, Picture
from attncli.options.shared import HardAttention, PictureSettings
from attncli.render.alignment.terminal import heat_maps
from attncli.render.rows import RowLayout
from attncli.tasks.classify.languages import LineLanguages
from attncli.tasks.translate import engine as engines
from attncli.tasks.translate.documents import (
    InputSettings,
    Translate,
    needs_attention,
    translate_document,
)
from attncli.tasks.translate.engine import Precision, TranslateBatches
from attncli.tasks.translate.line_plans import DOCUMENT, EVERYDAY, ROWS, LineSettings
from attncli.tasks.translate.lines import translate_lines
from attncli.tasks.translate.writers import REPORTED, OutputReport, rendered
from attncli.terminal.messages import Messages
from attncli.terminal.screen import Screen
from models.base.errors import ConfigurationError
from models.base.settings import option
from models.config import AlignConfig, SearchConfig
from models.text.glossary import Glossary

if TYPE_CHECKING:
    from attncli.tasks.translate.tags import AlignTranslations
    from models.inference.text_translator import TextTranslator
    from models.inference.translator import Translator


@dataclass(frozen=True)
class TranslateTables:
    """Tables of `attn translate`. Defaults of search and align are those saved with the model."""

    UNUSED: ClassVar = ("search.max_caption", "align.symmetrise")

    search: SearchConfig = option(SearchConfig, "search; the model has its own defaults")
    input: InputSettings = option(InputSettings, "format of the input")
    text: LineSettings = option(LineSettings, "lines")
    align: AlignConfig = option(AlignConfig, "--align, --show and --picture")
    picture: PictureSettings = option(PictureSettings, "--show and --picture")
    attention: HardAttention = option(HardAttention, "attention")
    compute: TranslateBatches = option(TranslateBatches, "computation")


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
    if document and needs_attention(document):
        return "inline markup"
    return "--keep-tags" if work.keep_tags else "an alignment" if aligned else ""


def line_languages(translator: TextTranslator, options: OpenOptions) -> LineLanguages:
    """Return the recogniser of the language of lines: the shipped language identifier."""
    classifier = loading.open_classifier(None, replace(options, read_mode=""))
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


def line_writer(
    layout: RowLayout, drawing: Drawing, screen: Screen | None = None
) -> LineWriter[TranslatedLine]:
    """Return the writer of translated lines. screen: for heat maps among them."""
    return LineWriter(
        partial(rendered, layout=layout),
        Picture(drawing),
        lambda outcome: outcome.alignments[:1],
        heat_maps,
        screen,
    )


def write_translations(
    run: Translate,
    source: BinaryIO | Document,
    output: Path | None,
    writer: LineWriter[TranslatedLine],
    messages: Messages,
) -> bool:
    """Translate and write the lines of a stream, or a document; return True if all could be."""
    if isinstance(source, Document):
        with open_output(output) as write:
            return translate_document(source, run, write, messages, shown=is_away(output))
    report = OutputReport()
    complete = write_lines("translating", source, output, run, writer, report.messages)
    for message in report.totals(above=REPORTED):
        messages.warn(message)
    if remark := report.copied():
        messages.say(remark)
    writer.picture.draw()
    return complete
