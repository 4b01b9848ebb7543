"""``attn translate``: options, and the writing of results and messages; see runner.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from attncli.bulk.job import BulkJob, BulkTask
from attncli.data.streams import check_output, open_output
from attncli.data.tables import read_glossary
from attncli.documents.document import UNREAD, Document, is_mail
from attncli.faithful.result import Line, TranslatedLine
from attncli.jobs.loading import row_inputs
from attncli.options import line_streams, shared
from attncli.options.settings import SetOption
from attncli.render.alignment_writers import heat_maps
from attncli.render.rows import RowFormat, RowLayout
from attncli.terminal import console
from attncli.terminal.messages import Screen, current_screen
from attncli.translate import documents
from attncli.translate.engine import Precision, TranslateOptions
from attncli.translate.runner import TranslateRunner
from attncli.translate.writers import REPORTED, OutputReport, rendered
from models.core.errors import ConfigurationError

Text = Annotated[
    list[str] | None, typer.Argument(help="Text to translate. Default: the lines of the input.")
]
Verbatim = Annotated[
    bool,
    typer.Option(
        "--verbatim",
        help="Give lines to the model as they are: no normalised spaces, apostrophes and accents, "
        "no copied lines, no lower case for lines in capitals.",
    ),
]
KeepTags = Annotated[
    bool, typer.Option("--keep-tags", help="Keep tags such as <b> and placeholders such as {name}.")
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(help="Terms that outputs must contain; a line: source term, tab, target term."),
]
Align = Annotated[bool, typer.Option("--align", help="Write the source word of each word.")]
Show = Annotated[bool, typer.Option("--show", help="Draw the attention under each output.")]
PictureFile = Annotated[
    Path | None,
    typer.Option(help="Draw the attention of the outputs: .svg, .png, .pdf, .html, or .npz."),
]
Computed = Annotated[
    Precision,
    typer.Option(help="int8 is faster and needs CTranslate2; auto: int8 if the model stores int8."),
]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="LANGUAGE",
        help="Multilingual model: source language; auto: recognise it for each line, and copy "
        "lines that are in the target language.",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with status 1 if an output fails a check.")
]
Scores = Annotated[bool, typer.Option("--scores", help="Put each score before its text.")]
Set = Annotated[list[str] | None, SetOption(TranslateOptions, example="search.length_penalty=0.6")]


def translate(
    text: Text = None,
    *,
    model: shared.Models = None,
    to: shared.To = "",
    source: From = "",
    input: line_streams.Input = None,
    output: line_streams.Output = None,
    column: documents.Columns = None,
    field: documents.Fields = None,
    into: documents.Into = None,
    format: Annotated[RowFormat, typer.Option(help="How to write the outputs.")] = "text",
    scores: Scores = False,
    beam: shared.Beam = None,
    nbest: shared.Nbest = None,
    verbatim: Verbatim = False,
    keep_tags: KeepTags = False,
    strict: Strict = False,
    glossary: GlossaryFile = None,
    align: Align = False,
    show: Show = False,
    picture: PictureFile = None,
    precision: Computed = "auto",
    device: shared.Device = "auto",
    threads: shared.Threads = 0,
    set: Set = None,
) -> None:
    """Translate text: one line in, one line out, in order.

    Lines come from the arguments, a file or standard input. A line that cannot be translated gives
    an empty line and a message, and exit status 1 at the end. Documents (subtitles,
    pages, tables, messages of programs, office files; see docs/documents.md) are recognised by the
    name of the file; only their text is translated. Search settings default to those saved with
    the model. See docs/translate.md.

    Example:
      attn translate -m runs/demo "The old dog sees a small house."
      attn translate -m runs/demo < test.en > test.de
      attn translate -m runs/multi --to fr < test.en > test.fr
      attn translate --to de -i film.srt -o film.de.srt
    """
    options = TranslateOptions.of_command(locals(), glossary=(), messages=console)
    check_output(output, input)
    shared.check_texts(text or [])
    terms = read_glossary(glossary).terms if glossary else ()
    drawing = line_streams.check_drawing(picture, options.picture.lines, drawn=show, arrays=True)
    line_streams.check_shown(show, format)
    shown = {"align": align, "show": show, "picture": picture is not None}
    aligned = any(shown.values())
    if keep_tags:
        documents.refuse_given(
            shown, "cannot be combined with --keep-tags, whose output is not plain text"
        )
    if (given := options.of("align")) and not aligned:
        raise ConfigurationError(
            f"align.{next(iter(given))} without an alignment", "--align, --show or --picture"
        )
    named = None if row_inputs(model) else input  # rows are read line by line
    choice = documents.document_choice(
        options.input, named, columns=column, fields=field, to=to, source=source
    )
    documents.check_format(output, choice, input)
    documents.check_into(into, choice)
    output = output or into
    if choice:
        several = options.search.nbest > 1
        unfit = shown | {"scores": scores, "format": format != "text", "nbest": several}
        documents.refuse_given(
            unfit, "is for lines of text; a document has one output, in its own format"
        )
    options = replace(options, document=choice is not None, glossary=terms, heads=drawing.heads)
    with line_streams.open_source(text, input) as stream:
        document = documents.read_input(stream, choice, input, into) if choice else None
        runner = TranslateRunner.open(model, options)
        several = runner.translator.search.nbest > 1
        layout = RowLayout(format, several, scores, runner.translator.read_mode, align=align)
        writer = line_writer(layout, drawing, current_screen() if show else None)
        failed: list[TranslatedLine] = []
        run = _with_failed(partial(runner.run, weights=aligned), failed)
        complete = write_translations(run, document or stream, output, writer)
    if runner.summary and not document:
        console.say(runner.summary)
    raise typer.Exit(not complete or (strict and bool(failed)))


def _with_failed(run: documents.Translate, failed: list[TranslatedLine]) -> documents.Translate:
    """Return a translation that adds the first line whose output fails a check to a list."""

    def translate(*chunks: Any, **options: Any) -> Iterator[list[TranslatedLine]]:
        for outcomes in run(*chunks, **options):
            if not failed:
                failed.extend([outcome for outcome in outcomes if outcome.checks][:1])
            yield outcomes

    return translate


def line_writer(
    layout: RowLayout, drawing: line_streams.Drawing, screen: Screen | None = None
) -> line_streams.LineWriter[TranslatedLine]:
    """Return the writer of translated lines. screen: for heat maps among them."""
    return line_streams.LineWriter(
        partial(rendered, layout=layout),
        line_streams.Picture(drawing),
        lambda outcome: outcome.alignments[:1],
        heat_maps,
        screen,
    )


def write_translations(
    run: documents.Translate,
    source: BinaryIO | Document,
    output: Path | None,
    writer: line_streams.LineWriter[TranslatedLine],
) -> bool:
    """Translate and write the lines of a stream, or a document; return True if all could be."""
    if isinstance(source, Document):
        with open_output(output) as write:
            return documents.translate_document(
                source, run, write, console, shown=line_streams.is_away(output)
            )
    report = OutputReport()

    def remarks(outcomes: list[TranslatedLine]) -> Iterator[str]:
        if outcomes[0].line.number == 1 and is_mail(one.line.text for one in outcomes):
            yield f"the head of a mail is translated as text; {UNREAD['.eml']}"
        yield from report.messages(outcomes)

    complete = line_streams.write_lines("translating", source, output, run, writer, remarks)
    for message in report.totals(above=REPORTED):
        console.warn(message)
    if remark := report.copied():
        console.say(remark)
    writer.picture.draw()
    return complete


class TranslateTask(BulkTask):
    """Text models that translate the lines of a bulk job."""

    doing, shipped, into = "translating", "translate", "translation"
    options, unused, documents = TranslateOptions, "input picture align", "attn translate -i"

    def __init__(self, job: BulkJob) -> None:
        runner = TranslateRunner.open([Path(model) for model in job.models], self.read(job))
        several, read_mode = runner.translator.search.nbest > 1, runner.translator.read_mode
        layout = RowLayout(job.settings["format"], several, job.settings["scores"], read_mode)
        self.run = lambda lines: next(runner.run([list(lines)]))
        self.row = lambda outcome: rendered([outcome], layout)

    def failed(self, record: Line, error: str) -> TranslatedLine:
        """Return a line without a translation."""
        return TranslatedLine(record, None, error)

    def value(self, result: TranslatedLine) -> tuple[str | None, ...]:
        """Return the translation and its warnings."""
        text = result.translation and result.translation.text
        return text, result.note, *OutputReport().messages([result])
