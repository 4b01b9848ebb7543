"""``attn translate``: options, and the writing of results and messages; see runner.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from attncli.data.lines import MAIL, input_chunks, is_mail
from attncli.data.streams import check_output, open_output
from attncli.faithful.result import Line, TranslatedLine
from attncli.options import line_streams, shared
from attncli.options.fields import command
from attncli.options.loading import row_inputs
from attncli.terminal import console
from attncli.translate import _scores as scores
from attncli.translate.engine import TranslateOptions
from attncli.translate.reports import REPORTED, OutputReport, check_judges
from attncli.translate.reports import review as reviewed
from attncli.translate.runner import TranslateRunner
from models.core.annexes import find_part, need_part
from models.core.errors import ConfigurationError


@command
@dataclass(frozen=True)
class TranslateCommand(TranslateOptions):
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

    texts: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Argument(metavar="text", help="Text to translate. Default: the lines of the input."),
    ] = ()
    model: shared.Models = None
    input_file: line_streams.Input = None
    output_file: line_streams.Output = None
    column: Annotated[
        list[str] | None,
        typer.Option("--column", help="csv: name, or number from 1, of a column (repeatable)."),
    ] = None
    field: Annotated[
        list[str] | None,
        typer.Option("--field", help="json, jsonl, yaml: field, such as meta.title (repeatable)."),
    ] = None
    into: Annotated[
        Path | None,
        typer.Option(
            help="json, arb, yaml, properties, strings, xml: translation to complete. What it "
            "lacks is translated, and it is written again, or --output."
        ),
    ] = None
    format: shared.Format = "text"
    with_scores: shared.Scores = False
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 if an output fails a check.")
    ] = False
    links: Annotated[bool, typer.Option("--align", help="Write the source word of each word.")] = (
        False
    )
    prefix: shared.Prefix = ""
    look: Annotated[
        tuple[str, ...], list[str] | None, shared.look_option("words, such as dog, 3 or 2-4")
    ] = ()
    prefix_column: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="Lines with a prefix each: text, tab, prefix with 2; JSON lines with a key.",
        ),
    ] = ""
    score: Annotated[
        bool,
        typer.Option(
            "--score", help="Write log-probabilities of given outputs: text, tab, output."
        ),
    ] = False
    show: shared.Show = False
    picture_file: shared.PictureFile = None

    def run(self) -> None:
        """Translate lines or a document, and write and draw the outputs."""
        read = scores.reader_of(self.prefix_column) if self.prefix_column else input_chunks
        source, output, into = self.input_file, self.output_file, self.into
        check_output(output, source)
        check_output(self.review, source, output)
        shared.check_texts(self.texts)
        drawing = line_streams.check_drawing(
            self.picture_file, self.picture.lines, drawn=self.show, arrays=True
        )
        line_streams.check_shown(self.show, self.format)
        self._check_alignment()
        documents, choice = self._document()
        output = output or into
        options = replace(self, document=choice is not None, heads=drawing.heads)
        with line_streams.open_source(self.texts, source) as stream:
            document = documents.read_input(stream, choice, source, into) if choice else None
            runner = TranslateRunner.open(self.model, options)
            if self.review:
                check_judges(runner.model.calibration.directions)
            if document:
                complete = _write_document(runner, documents, document, output)
            elif self.score:
                complete = _write_scores(runner, stream, output)
            else:
                complete = self._write_lines(runner, stream, output, drawing, read)
        raise typer.Exit(not complete or (self.strict and runner.failing))

    @property
    def shown(self) -> dict[str, bool]:
        """Whether each option that shows the alignment of the outputs is given, by name."""
        return {"align": self.links, "show": self.show, "picture": self.picture_file is not None}

    def _check_alignment(self) -> None:
        """Refuse alignments of outputs with tags, and settings of alignments without any."""
        if self.keep_tags:
            found = "cannot be combined with --keep-tags, whose output is not plain text"
            _refuse_given(self.shown, found)
        if (given := self.of("align")) and not any(self.shown.values()):
            raise ConfigurationError(
                f"align.{next(iter(given))} without an alignment", "--align, --show or --picture"
            )

    def _document(self) -> tuple[Any, Any]:
        """Return the part that translates documents, and how the input is read.

        Both are None without that part, and for lines.
        """
        own: dict[str, object] = {"--column": self.column, "--field": self.field}
        own |= {"input.keep": self.input.keep, "--into": self.into}
        given = self.input_file or self.output_file or self.input.format
        if asked := next((name for name, value in own.items() if value), ""):
            documents = need_part("document", "translation", asked)
        elif not given or not (documents := find_part("document", "translation")):
            return None, None
        by_line = self.prefix_column or self.score or row_inputs(self.model)
        choice = documents.document_choice(
            self.input,
            None if by_line else self.input_file,
            columns=self.column,
            fields=self.field,
            into=self.into,
            to=self.to,
            source=self.source,
        )
        documents.check_format(self.output_file, choice, self.input_file)
        documents.check_format(self.into, choice)
        if choice:
            unfit = self.shown | {"scores": self.with_scores, "format": self.format != "text"}
            unfit |= {"nbest": self.search.nbest > 1, "prefix": bool(self.prefix)}
            unfit |= {"look": bool(self.look), "back": self.back}
            found = "is for lines of text; a document has one output, in its own format"
            _refuse_given(unfit, found)
        return documents, choice

    def _write_lines(
        self,
        runner: TranslateRunner,
        source: BinaryIO,
        output: Path | None,
        drawing: line_streams.Drawing,
        read: Callable[[BinaryIO], Iterator[list[Line]]],
    ) -> bool:
        """Translate and write the lines of a stream; return True if all could be translated."""
        picture = line_streams.Picture(drawing)
        with reviewed(self.review) as doubts:
            report = OutputReport(doubts=doubts)

            def remarks(results: list[TranslatedLine]) -> Iterator[str]:
                if results[0].line.number == 1 and is_mail(one.line.text for one in results):
                    yield f"the head of a mail is translated as text; {MAIL}"
                yield from report.messages(results)

            complete = line_streams.write_lines(
                runner,
                source,
                output,
                picture,
                weights=any(self.shown.values()),
                show=self.show,
                remarks=remarks,
                read=read,
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


def _refuse_given(options: Mapping[str, bool], why: str) -> None:
    """Raise a usage error for the first option that was given: whose value is True."""
    for name, is_given in options.items():
        if is_given:
            raise typer.BadParameter(why, param_hint=f"'--{name}'")


def _write_document(
    runner: TranslateRunner, documents: Any, document: Any, output: Path | None
) -> bool:
    """Translate and write a document; return True if all of it could be translated."""
    review = reviewed(runner.options.review, documents.named(document))
    with open_output(output) as write, review as doubts:
        complete: bool = documents.translate_document(
            document,
            runner,
            write,
            console,
            shown=line_streams.is_away(output),
            doubts=doubts,
        )
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
