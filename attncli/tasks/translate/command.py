"""``attn translate``: options; the work is in translate_run.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from attncli.data.lines import read_chunks
from attncli.data.streams import check_output, open_output
from attncli.data.text.glossary import read_glossary
from attncli.data.typed import typed_chunks
from attncli.jobs.loading import OpenOptions
from attncli.jobs.text_arguments import check_texts
from attncli.options.line_streams import Input, Output, byte_progress, is_away, open_source
from attncli.options.overrides import SearchOverrides
from attncli.options.pictures import Picture, check_drawing
from attncli.options.shared import (
    BatchTokens,
    Device,
    HardDecode,
    Models,
    Threads,
    To,
    check_search,
    with_settings,
)
from attncli.tasks.translate.document_run import (
    Columns,
    Fields,
    FormatIn,
    Keep,
    check_plain_output,
    document_choice,
    read_input,
    translate_document,
)
from attncli.tasks.translate.line_plans import LongLines
from attncli.tasks.translate.run import (
    Shown,
    TranslateWork,
    open_translator,
    report,
    target_language,
    translation_of_lines,
    with_attention,
    write_all,
)
from attncli.tasks.translate.writers import Format, TranslationLayout
from attncli.terminal.screen import current_screen
from models.config.tables import MAX_BATCH_TOKENS
from models.inference.ctranslate2.engines import ComputePrecision, Engine

Text = Annotated[
    list[str] | None, typer.Argument(help="Text to translate. Default: the lines of the input.")
]
Long = Annotated[
    LongLines,
    typer.Option("--long", help="Lines too long for the model: split at sentence ends, or refuse."),
]
Normalise = Annotated[
    bool,
    typer.Option(
        "--normalise/--no-normalise",
        help="Read runs of spaces and no-break spaces as one space, curly apostrophes as straight, "
        "decomposed accents as composed.",
    ),
]
Copy = Annotated[
    bool,
    typer.Option(
        "--copy/--no-copy",
        help="Copy lines without letters, emoji at the ends of lines, and lines that are one URL, "
        "e-mail or word too long for the model.",
    ),
]
Capitals = Annotated[
    bool,
    typer.Option(
        "--capitals/--no-capitals",
        help="Translate lines in capitals in lower case if the model does not know capitals.",
    ),
]
KeepTags = Annotated[
    bool,
    typer.Option(
        "--keep-tags", help="Keep tags and placeholders; the attention places them in the output."
    ),
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
Chosen = Annotated[str | None, typer.Option("--pairs", metavar="1-20,35", help="Lines to draw.")]
UnitsOf = Annotated[
    Literal["word", "piece", "char"] | None, typer.Option(help="Units that are aligned and drawn.")
]
EngineName = Annotated[
    Engine,
    typer.Option(
        "--engine",
        help="torch; ctranslate2, for text Transformers on the processor; auto: ctranslate2 where "
        "it can, else torch.",
    ),
]
PrecisionName = Annotated[
    ComputePrecision,
    typer.Option(
        "--precision",
        help="Precision of the computation; int8 needs ctranslate2. bf16 is that of torch's output "
        "layer: outputs may differ from fp32 and depend on the batch.",
    ),
]
AUTO = "auto"
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="LANGUAGE",
        help="Multilingual model: source language, which is only checked; auto: recognise each "
        "line's language, and copy lines that are in the target language.",
    ),
]
Scores = Annotated[bool, typer.Option("--scores", help="Put each score before its text.")]


@with_settings("max_caption", "views")
def translate(
    text: Text = None,
    *,
    model: Models = None,
    to: To = "",
    source: From = "",
    input: Input = None,
    output: Output = None,
    format_in: FormatIn = None,
    column: Columns = None,
    field: Fields = None,
    keep: Keep = None,
    format: Annotated[Format, typer.Option(help="How to write the outputs.")] = "text",
    scores: Scores = False,
    overrides: SearchOverrides,
    hard_decode: HardDecode = None,
    keep_tags: KeepTags = False,
    glossary: GlossaryFile = None,
    align: Align = False,
    units: UnitsOf = None,
    show: Show = False,
    picture: PictureFile = None,
    pairs: Chosen = None,
    long: Long = "split",
    normalise: Normalise = True,
    copy: Copy = True,
    capitals: Capitals = True,
    max_batch_tokens: BatchTokens = MAX_BATCH_TOKENS,
    engine: EngineName = "auto",
    precision: PrecisionName = "fp32",
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Translate text: one line in, one line out, in order.

    Lines come from the arguments, a file or standard input; an empty line gives an empty line. A
    program that waits for each answer gets it at once; files are translated in large batches. A
    line that cannot be translated gives an empty line and a message, and exit status 1 at the end.

    Search settings default to those saved with the model; options given here override them.
    Outputs that were cut at their length limit, outputs that repeat a phrase again and again, and
    characters that the model does not know are reported on stderr with their line numbers.

    Spacing, apostrophes and accents are normalised, and the output keeps the spaces at the ends of
    its line. Lines without letters are copied. Lines in capitals are translated in lower case if
    the model does not know capitals. Documents, and lines of more than --split-above tokens, are
    translated sentence by sentence.

    --mbr chooses, of several candidates, the output that is most similar to the others; its score
    is then the expected similarity.

    With --nbest above 1, text is "index ||| output ||| score", index from 0. TSV is source, output
    and score. JSON lines hold the source and, for each output, text, score, log_prob, tokens and
    truncated (cut at the length limit); if the attention is hard, also its read mode.

    With --keep-tags, tags such as <b>, </b> and <br/> and placeholders such as {name}, %s and
    ${var} are not translated: the model does not see them, and each is placed in the output by the
    attention of the words next to it. The output has the same tags, correctly nested. Entities are
    read as their characters.

    Documents (srt, vtt, markdown, html, csv, jsonl, po) are recognised by the name of the file (-i)
    or given with --format-in. Only their text is translated; everything else is unchanged. Text
    that is left untranslated is reported. A table needs --column, JSON lines --field or --keep.

    With --from auto, the shipped language identifier reads each line first. A line that is
    already in the target language is copied; the number of these lines is reported at the end.

    A multilingual model needs --to LANGUAGE. A direction that its training data did not have
    (zero-shot) works as well, but is reported.

    Several -m are an ensemble: the mean of their probabilities is searched. --show and --picture
    draw the attention of every model; --align and --keep-tags use that of the first.

    With --glossary FILE, an output contains the target term of each source term in its text, by
    constrained beam search.

    With --align, `output ||| 0-0 2-1` gives the source word, counted from 0, of each word. TSV has
    one more column, JSON lines have links and weights.

    Example:
      attn translate -m runs/demo "The old dog sees a small house."
      attn translate -m runs/demo < test.en > test.de
      attn translate -m runs/multi --to fr < test.en > test.fr
      attn translate --to de -i film.srt -o film.de.srt
    """
    check_search(overrides)
    check_output(output)
    check_texts(text or [])
    terms = read_glossary(glossary) if glossary else None
    drawing = check_drawing(picture, pairs, drawn=show)
    aligned = align or show or picture is not None
    _check_alignment(aligned, keep_tags, units)
    choice = document_choice(format_in, input, columns=column, fields=field, keep=keep)
    if choice:
        nbest = overrides.get("nbest", 1) > 1
        check_plain_output(align=aligned, scores=scores, format=format != "text", nbest=nbest)
    work = TranslateWork(
        model,
        OpenOptions(device, threads, hard_decode, overrides, to, "" if source == AUTO else source),
        engine,
        precision,
        {"long_lines": long, "normalise": normalise, "copy": copy, "capitals": capitals},
        max_batch_tokens,
        keep_tags,
        terms,
    )
    with open_source(text, input) as stream:
        document = read_input(stream, choice) if choice else None
        translator = open_translator(work, document=document, aligned=aligned)
        target = target_language(translator, work.options) if source == AUTO else None
        run = translation_of_lines(work, translator, target, is_document=document is not None)
        if document:
            with open_output(output) as write:
                complete = translate_document(document, run, write, shown=is_away(output))
            report(target)
            raise typer.Exit(not complete)
        typed = stream.isatty()
        layout = TranslationLayout(
            format, translator.search.nbest > 1, scores, translator.read_mode, align
        )
        shown = Shown(layout, Picture(drawing), current_screen() if show else None)
        with (
            open_output(output) as write,
            byte_progress("translating", stream, shown=is_away(output) and not typed) as progress,
        ):
            chunks = progress.read(typed_chunks(stream) if typed else read_chunks(stream))
            outcomes = run(chunks, on_batch=progress.show_share)
            if aligned:
                heads = drawing.heads
                outcomes = with_attention(outcomes, work, translator, units=units, heads=heads)
            refused = write_all(outcomes, shown, write, progress)
        shown.picture.draw()
    report(target)
    if refused:
        raise typer.Exit(1)


def _check_alignment(aligned: bool, keep_tags: bool, units: str | None) -> None:
    if aligned and keep_tags:
        raise typer.BadParameter(
            "cannot be combined with --keep-tags, whose output is not plain text",
            param_hint="'--align'",
        )
    if units and not aligned:
        raise typer.BadParameter("needs --align, --show or --picture", param_hint="'--units'")
