"""``attn translate``: options, and the writing of results and messages; see runner.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import typer

from attncli.data.lines import MAIL, input_chunks, is_mail
from attncli.data.memory import read_memory
from attncli.data.streams import check_output, open_output
from attncli.data.tables import read_glossary, read_lexicon_table
from attncli.faithful.result import Line, TranslatedLine
from attncli.jobs.loading import row_inputs
from attncli.options import line_streams, shared
from attncli.options.settings import SetOption
from attncli.terminal import console
from attncli.translate import scores
from attncli.translate.doubts import Doubts, check_judges
from attncli.translate.doubts import review as reviewed
from attncli.translate.engine import AUTO, Precision, TranslateOptions
from attncli.translate.runner import TranslateRunner
from attncli.translate.writers import REPORTED, OutputReport
from models.core.annexes import find_part, need_part
from models.core.errors import ConfigurationError

Text = Annotated[
    list[str] | None, typer.Argument(help="Text to translate. Default: the lines of the input.")
]
Verbatim = Annotated[
    bool,
    typer.Option(
        "--verbatim",
        help="Give lines to the model as they are: no normalised spaces, no copied lines.",
    ),
]
KeepTags = Annotated[
    bool, typer.Option("--keep-tags", help="Keep tags such as <b> and placeholders such as {name}.")
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(help="Terms that outputs must contain; a line: source term, tab, target term."),
]
LexiconFile = Annotated[
    Path | None,
    typer.Option(
        help="Words that the model reads and inflects; a line: word, tab, translation; perhaps a "
        "tab and a direction."
    ),
]
Address = Annotated[
    Literal["formal", "informal"] | None,
    typer.Option(help="Form of address of the outputs: Sie or du, vous or tu, usted or tú."),
]
Back = Annotated[
    bool,
    typer.Option("--back", help="Translate each output back, too, and write that beside it."),
]
Review = Annotated[
    Path | None,
    typer.Option(help="Write the doubtful lines to this file, each with its reason."),
]
Align = Annotated[bool, typer.Option("--align", help="Write the source word of each word.")]
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
Looks = Annotated[list[str] | None, shared.look_option("words, such as dog, 3 or 2-4")]
PrefixColumn = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="Lines with a prefix each: text, tab, prefix with 2; JSON lines with a key.",
    ),
]
Score = Annotated[
    bool,
    typer.Option("--score", help="Write log-probabilities of given outputs: text, tab, output."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="csv: name, or number from 1, of a column (repeatable)."),
]
Fields = Annotated[
    list[str] | None,
    typer.Option("--field", help="json, jsonl, yaml: field, such as meta.title (repeatable)."),
]
Into = Annotated[
    Path | None,
    typer.Option(
        help="json, arb, yaml, properties, strings, xml: translation to complete. What it lacks is "
        "translated, and it is written again, or --output."
    ),
]
Set = Annotated[list[str] | None, SetOption(TranslateOptions, example="search.length_penalty=0.6")]


def translate(
    text: Text = None,
    *,
    model: shared.Models = None,
    to: shared.To = "",
    source: From = "",
    input: line_streams.Input = None,
    output: line_streams.Output = None,
    column: Columns = None,
    field: Fields = None,
    into: Into = None,
    format: shared.Format = "text",
    with_scores: shared.Scores = False,
    beam: shared.Beam = None,
    nbest: shared.Nbest = None,
    verbatim: Verbatim = False,
    keep_tags: KeepTags = False,
    strict: Strict = False,
    glossary: GlossaryFile = None,
    lexicon: LexiconFile = None,
    memory: shared.MemoryFile = None,
    address: Address = None,
    back: Back = False,
    review: Review = None,
    align: Align = False,
    prefix: shared.Prefix = "",
    look: Looks = None,
    prefix_column: PrefixColumn = "",
    score: Score = False,
    show: shared.Show = False,
    picture: shared.PictureFile = None,
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
      attn translate --to de --prefix "Ein " --look dog@2 "The old dog sees a small house."
    """
    none: Any = {"glossary": (), "lexicon": (), "memory": (), "look": tuple(look or ())}
    options = TranslateOptions.of_command(locals(), **none, messages=console)
    read = scores.reader_of(prefix_column) if prefix_column else input_chunks
    check_output(output, input)
    check_output(review, input, output)
    shared.check_texts(text or [])
    terms = read_glossary(glossary).terms if glossary else ()
    entries = read_lexicon_table(lexicon) if lexicon else ()
    known = read_memory(memory, "" if source == AUTO else source, to) if memory else ()
    drawing = line_streams.check_drawing(picture, options.picture.lines, drawn=show, arrays=True)
    line_streams.check_shown(show, format)
    shown = {"align": align, "show": show, "picture": picture is not None}
    aligned = any(shown.values())
    if keep_tags:
        _refuse_given(shown, "cannot be combined with --keep-tags, whose output is not plain text")
    if (given := options.of("align")) and not aligned:
        raise ConfigurationError(
            f"align.{next(iter(given))} without an alignment", "--align, --show or --picture"
        )
    by_line = prefix_column or score or row_inputs(model)
    named = None if by_line else input  # these are read line by line
    choice = None
    special = {"--column": column, "--field": field, "input.keep": options.input.keep}
    files = input or output or options.input.format
    if documents := _documents({**special, "--into": into}, named=bool(files)):
        choice = documents.document_choice(
            options.input, named, columns=column, fields=field, into=into, to=to, source=source
        )
        documents.check_format(output, choice, input)
        documents.check_format(into, choice)
    output = output or into
    if choice:
        several = options.search.nbest > 1
        unfit = shown | {"scores": with_scores, "format": format != "text", "nbest": several}
        unfit |= {"prefix": bool(prefix), "look": bool(look), "back": back}
        _refuse_given(unfit, "is for lines of text; a document has one output, in its own format")
    options = replace(
        options,
        document=choice is not None,
        glossary=terms,
        lexicon=entries,
        memory=known,
        links=align,
        heads=drawing.heads,
    )
    with line_streams.open_source(text, input) as stream:
        document = documents.read_input(stream, choice, input, into) if choice else None
        runner = TranslateRunner.open(model, options)
        if review:
            check_judges(runner.model.calibration.directions)
        if document:
            with (
                open_output(output) as write,
                reviewed(review, documents.named(document)) as doubts,
            ):
                complete = documents.translate_document(
                    document,
                    runner,
                    write,
                    console,
                    shown=line_streams.is_away(output),
                    doubts=doubts,
                )
        elif score:
            complete = _write_scores(runner, stream, output)
        else:
            with reviewed(review) as doubts:
                complete = _write_lines(
                    runner,
                    stream,
                    output,
                    drawing,
                    weights=aligned,
                    show=show,
                    read=read,
                    doubts=doubts,
                )
    raise typer.Exit(not complete or (strict and runner.failing))


def _refuse_given(options: Mapping[str, bool], why: str) -> None:
    """Raise a usage error for the first option that was given: whose value is True."""
    for name, is_given in options.items():
        if is_given:
            raise typer.BadParameter(why, param_hint=f"'--{name}'")


def _documents(given: Mapping[str, object], *, named: bool) -> Any:
    """Return the part that translates documents; None without it, or where only lines can be.

    given: options for documents alone. named: True if a file or a format is named.
    """
    if asked := next((name for name, value in given.items() if value), ""):
        return need_part("document", "translation", asked)
    return find_part("document", "translation") if named else None


def _write_lines(
    runner: TranslateRunner,
    source: BinaryIO,
    output: Path | None,
    drawing: line_streams.Drawing,
    *,
    weights: bool,
    show: bool,
    read: Callable[[BinaryIO], Iterator[list[Line]]],
    doubts: Doubts,
) -> bool:
    """Translate and write the lines of a stream; return True if all could be translated."""
    report, picture = OutputReport(doubts=doubts), line_streams.Picture(drawing)

    def remarks(results: list[TranslatedLine]) -> Iterator[str]:
        if results[0].line.number == 1 and is_mail(one.line.text for one in results):
            yield f"the head of a mail is translated as text; {MAIL}"
        yield from report.messages(results)

    complete = line_streams.write_lines(
        runner, source, output, picture, weights=weights, show=show, remarks=remarks, read=read
    )
    for message in report.totals(above=REPORTED):
        console.warn(message)
    if remark := report.copied():
        console.say(remark)
    if summary := doubts.summary():
        console.warn(summary)
    picture.draw()
    if runner.summary:
        console.say(runner.summary)
    return complete


def _write_scores(runner: TranslateRunner, source: BinaryIO, output: Path | None) -> bool:
    """Write the log-probability of each pair of a stream; return True if all have one."""
    complete = True
    with open_output(output) as write:
        for found in scores.pair_scores(runner, input_chunks(source)):
            rows = (scores.score_row(one, runner.options.format) for one in found)
            write("".join(f"{row}\n" for row in rows).encode("utf-8", "replace"))
            for note in filter(None, (one.note for one in found)):
                console.warn(note)
                complete = False
    return complete
