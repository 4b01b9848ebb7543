"""``attn translate``: options; the work is in run.py, rarer settings in settings.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from attncli.data.streams import check_output
from attncli.data.text.tables import read_glossary
from attncli.jobs.loading import OpenOptions, row_inputs
from attncli.jobs.text_arguments import check_texts
from attncli.options.line_streams import Input, Output, open_source
from attncli.options.pictures import check_drawing, check_shown
from attncli.options.settings import GivenSettings, SetOption
from attncli.options.shared import Beam, Device, Models, Nbest, Threads, To, search_settings
from attncli.render.rows import RowFormat, RowLayout
from attncli.tasks.translate.documents import (
    Columns,
    Fields,
    check_format,
    document_choice,
    read_input,
    refuse_given,
)
from attncli.tasks.translate.engine import Precision
from attncli.tasks.translate.run import (
    TranslateTables,
    TranslateWork,
    line_languages,
    line_writer,
    open_translator,
    translation_of_lines,
    with_attention,
    write_translations,
)
from attncli.terminal import console
from attncli.terminal.screen import current_screen
from models.base.errors import ConfigurationError

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
    Path | None, typer.Option(help="Draw the attention of the outputs: .svg, .png, .pdf, .html.")
]
Computed = Annotated[
    Precision,
    typer.Option(help="int8 is faster and needs CTranslate2; auto: int8 if the model stores int8."),
]
AUTO = "auto"
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="LANGUAGE",
        help="Multilingual model: source language; auto: recognise it for each line, and copy "
        "lines that are in the target language.",
    ),
]
Scores = Annotated[bool, typer.Option("--scores", help="Put each score before its text.")]
Set = Annotated[list[str] | None, SetOption(TranslateTables, example="search.length_penalty=0.6")]


def translate(
    text: Text = None,
    *,
    model: Models = None,
    to: To = "",
    source: From = "",
    input: Input = None,
    output: Output = None,
    column: Columns = None,
    field: Fields = None,
    format: Annotated[RowFormat, typer.Option(help="How to write the outputs.")] = "text",
    scores: Scores = False,
    beam: Beam = None,
    nbest: Nbest = None,
    verbatim: Verbatim = False,
    keep_tags: KeepTags = False,
    glossary: GlossaryFile = None,
    align: Align = False,
    show: Show = False,
    picture: PictureFile = None,
    precision: Computed = "auto",
    device: Device = "auto",
    threads: Threads = 0,
    set: Set = None,
) -> None:
    """Translate text: one line in, one line out, in order.

    Lines come from the arguments, a file or standard input. A line that cannot be translated gives
    an empty line and a message, and exit status 1 at the end. Documents (srt, vtt, markdown, html,
    csv, json, jsonl, po, docx, odt, epub) are recognised by the name of the file; only their text
    is translated. Search settings default to those saved with the model. See docs/translate.md.

    Example:
      attn translate -m runs/demo "The old dog sees a small house."
      attn translate -m runs/demo < test.en > test.de
      attn translate -m runs/multi --to fr < test.en > test.fr
      attn translate --to de -i film.srt -o film.de.srt
    """
    given = search_settings(TranslateTables, set, beam, nbest)
    tables = given.tables
    check_output(output, input)
    check_texts(text or [])
    terms = read_glossary(glossary) if glossary else None
    drawing = check_drawing(picture, tables.picture.lines, drawn=show)
    check_shown(show, format)
    shown = {"align": align, "show": show, "picture": picture is not None}
    aligned = any(shown.values())
    if keep_tags:
        refuse_given(shown, "cannot be combined with --keep-tags, whose output is not plain text")
    _check_alignment(aligned, given.of("align"))
    named = None if row_inputs(model) else input  # rows are read line by line
    choice = document_choice(tables.input, named, columns=column, fields=field)
    check_format(output, choice)
    if choice:
        several = tables.search.nbest > 1
        unfit = shown | {"scores": scores, "format": format != "text", "nbest": several}
        refuse_given(unfit, "is for lines of text; a document has one output, in its own format")
    options = translate_options(given, source, to=to, device=device, threads=threads)
    work = TranslateWork(
        model, options, tables, precision, verbatim=verbatim, keep_tags=keep_tags, glossary=terms
    )
    with open_source(text, input) as stream:
        document = read_input(stream, choice, input) if choice else None
        translator = open_translator(work, document=document, aligned=aligned)
        languages = line_languages(translator, work.options) if source == AUTO else None
        run = translation_of_lines(work, translator, languages, is_document=document is not None)
        if aligned:
            run = with_attention(run, work, translator, given.of("align"), heads=drawing.heads)
        several = translator.search.nbest > 1
        layout = RowLayout(format, several, scores, translator.read_mode, align=align)
        writer = line_writer(layout, drawing, current_screen() if show else None)
        complete = write_translations(run, document or stream, output, writer, console)
    if languages and languages.summary:
        console.say(languages.summary)
    raise typer.Exit(not complete)


def translate_options(
    given: GivenSettings[TranslateTables], source: str, *, to: str, device: str, threads: int
) -> OpenOptions:
    """Return how the models are opened. source: a language, AUTO or empty."""
    return OpenOptions(
        device,
        threads,
        given.tables.attention.read_decode,
        given.of("search"),
        to,
        "" if source == AUTO else source,
        messages=console,
    )


def _check_alignment(aligned: bool, given: Mapping[str, object]) -> None:
    if given and not aligned:
        raise ConfigurationError(
            f"align.{next(iter(given))} without an alignment", "--align, --show or --picture"
        )
