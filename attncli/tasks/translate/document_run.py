"""Documents in ``attn translate``: options, and translation of a whole file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple

import typer

from attncli.data.compression import decompressed_stream
from attncli.data.lines import CHUNK_LINES, Line, TranslatedLine
from attncli.data.streams import Write
from attncli.documents.document import Document, DocumentOptions
from attncli.documents.registry import (
    TEXT,
    UNREAD,
    format_of,
    named_delimiter,
    suffixes,
    uncompressed,
)
from attncli.tasks.translate.output.checks import REPORTED, OutputReport
from attncli.tasks.translate.settings import InputSettings
from attncli.terminal.messages import Messages
from models.base.errors import InputError
from models.base.limits import FILE_BYTES
from models.inference.search.batching import windows

Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="csv: name, or number from 1, of a column (repeatable)."),
]
Fields = Annotated[
    list[str] | None,
    typer.Option("--field", help="jsonl: field, such as meta.title (repeatable)."),
]


# of chunks of lines, with on_batch; see `lines.translate_lines`
Translate = Callable[..., Iterator[list[TranslatedLine]]]


class DocumentChoice(NamedTuple):
    """The format of a document, and its parts to translate."""

    format: str
    options: DocumentOptions


def document_choice(
    settings: InputSettings,
    path: Path | None,
    *,
    columns: list[str] | None,
    fields: list[str] | None,
) -> DocumentChoice | None:
    """Return how a document is read; None for lines of text. Raise an error otherwise."""
    name = settings.format or format_of(path)
    if path and not settings.format and uncompressed(path).suffix.lower() in UNREAD:
        raise InputError(
            f"cannot read {path}: a document of another format",
            f"a name ending in {', '.join(suffixes())}",
            "-s input.format=text translates its lines",
        )
    for option, given, wanted in (
        ("--column", columns, "csv"),
        ("--field", fields, "jsonl"),
        ("input.keep", settings.keep, "jsonl"),
    ):
        if given and name != wanted:
            raise typer.BadParameter(
                f"the input is {name}, and this is for {wanted}", param_hint=f"'{option}'"
            )
    if fields and settings.keep:
        raise typer.BadParameter("cannot be combined with --field", param_hint="'input.keep'")
    if name == TEXT:
        return None
    options = DocumentOptions(
        tuple(columns or ()), tuple(fields or ()), settings.keep, named_delimiter(path)
    )
    return DocumentChoice(name, options)


def refuse_given(options: Mapping[str, bool], why: str) -> None:
    """Raise a usage error for the first option that was given: whose value is True."""
    for name, is_given in options.items():
        if is_given:
            raise typer.BadParameter(why, param_hint=f"'--{name}'")


def read_input(stream: BinaryIO, choice: DocumentChoice) -> Document:
    """Read a whole document. Raises InputError if it is too long."""
    from attncli.tasks.translate import documents

    content = decompressed_stream(stream, "the document").read(FILE_BYTES + 1)
    if len(content) > FILE_BYTES:
        raise InputError(f"a document of more than {FILE_BYTES:,} bytes", "a smaller file")
    return documents.opened(content, choice.format, choice.options)


def translate_document(
    document: Document, translate: Translate, write: Write, messages: Messages, *, shown: bool
) -> bool:
    """Translate and write a document; return True if all of it could be translated.

    Text that is left untranslated is reported. shown: show the progress.
    """
    from attncli.tasks.translate import documents

    outcomes = _outcomes(documents.lines_of(document), translate, messages, shown=shown)
    faults = [*documents.faults(document)]
    for message in [*faults, *documents.untranslated(document, outcomes)]:
        messages.warn(message)
    write(documents.written(document, outcomes))
    return not faults and all(outcome.translation for outcome in outcomes)


def _outcomes(
    lines: list[Line], translate: Translate, messages: Messages, *, shown: bool
) -> list[TranslatedLine]:
    """Translate the texts of a document; report suspicious outputs with their line numbers."""
    report = OutputReport()
    outcomes: list[TranslatedLine] = []
    with messages.progress("translating", total=len(lines), shown=shown) as advance:

        def show(done: int, total: int) -> None:
            current = min(CHUNK_LINES, len(lines) - len(outcomes))
            advance(len(outcomes) + current * done / total)

        for chunk in translate(windows(lines, CHUNK_LINES), on_batch=show):
            outcomes += chunk
            for message in [*(one.note for one in chunk if one.note), *report.messages(chunk)]:
                messages.warn(message)
            advance(len(outcomes))
    for message in report.totals(above=REPORTED):
        messages.warn(message)
    return outcomes
