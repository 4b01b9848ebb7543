"""Documents in ``attn translate``: segments as lines, then the document with the translations.

Readers and tags are imported for a document alone, so that a translation of lines starts faster.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, NamedTuple

import typer

from attncli.data.lines import CHUNK_LINES, check_text
from attncli.data.streams import TEXT, WESTERN, Write, read_whole, western
from attncli.documents._inline import read_lines
from attncli.documents.document import (
    TRANSLATED,
    Document,
    DocumentOptions,
    DocumentSegment,
    Kept,
    Texts,
    check_language,
    read_document,
    reassemble,
)
from attncli.documents.formats import (
    PACKED,
    check_lines,
    format_inside,
    format_of,
    hint,
    named_delimiter,
)
from attncli.faithful.checks import lacks_parts
from attncli.faithful.protect import has_dollar_names
from attncli.faithful.result import Line, TranslatedLine, text_line
from attncli.terminal.messages import Messages, counted
from attncli.translate.engine import InputSettings
from attncli.translate.reports import REPORTED, Doubts, Named, OutputReport
from attncli.translate.runner import TranslateRunner
from models.core.errors import InputError, naming
from models.core.limits import WINDOW_BYTES
from models.search.batching import windows
from models.text.normalise import is_unicode

KEYED = "json, arb, yaml, properties, strings, xml"  # formats with keys
UNTRANSLATED, UNCHANGED = "texts without a translation", "texts whose translation is the same"
ALREADY = "texts that are in the target language"
DOUBTFUL = "texts whose translation fails a check"
STRICT = ("po", *KEYED.split(", "))  # programs read them
UTF_8 = "utf-8"
OF_NAMES = ("idna", "punycode")  # encodings of names in the internet, slow for a document
UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
DECLARED = {  # the encoding that a document names
    "po": re.compile(rb".{,4000}?\bcharset=([\w.-]+)", re.DOTALL),
    "xml": re.compile(rb'<\?xml[^>]{,200}\bencoding=["\']([\w.-]+)'),
}
DIRECTIVE = re.compile(r"%(?:\([^()]*\)|\d+\$)?[-+#0']*[\d.*]*(?:<\w+>|[hlLqjzt]*[A-Za-z%@])?")
OF_PIECES = re.compile("\ue000/?[0-9]+\ue001")  # of a document that is an archive
QUOTED = 40  # letters of a text in a message
CELL = re.compile(r".*: [A-Z]+\d+")  # name of the cell of a sheet
FIELDED = "json, jsonl, arb, yaml or markdown"  # formats with fields
CONVERT = "convert it: iconv -f ENCODING -t UTF-8"
LISTED = 20  # doubtful texts of a document that are named


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
    into: Path | None = None,
    to: str = "",
    source: str = "",
) -> DocumentChoice | None:
    """Return how a document is read; None for lines of text. Raise an error otherwise."""
    name = settings.format or format_of(path)
    is_read = path and not settings.format and name == TEXT and path.is_file()
    if path and is_read and path.stat().st_size < WINDOW_BYTES:
        name = format_inside(path, path.read_bytes())
    if path and not settings.format and (advice := hint(path)):
        raise InputError(f"cannot read {path}", hint=advice)
    if path and not settings.format and name == TEXT and path.is_file():
        check_lines(path)
    for where, given, wanted in (
        ("--column", columns, "csv"),
        ("--field", fields, FIELDED),
        ("input.keep", settings.keep, FIELDED),
        ("--into", into, KEYED),
    ):
        if given and name not in re.split(", | or ", wanted):
            raise typer.BadParameter(
                f"the input is {name}, and this is for {wanted}", param_hint=f"'{where}'"
            )
    if fields and settings.keep:
        raise typer.BadParameter("cannot be combined with --field", param_hint="'input.keep'")
    if name == TEXT:
        return None
    options = DocumentOptions(
        tuple(columns or ()), tuple(fields or ()), settings.keep, named_delimiter(path), to, source
    )
    return DocumentChoice(name, options)


def check_format(
    output: Path | None, choice: DocumentChoice | None, input: Path | None = None
) -> None:
    """Raise InputError if the name of the output tells another format than that of the input."""
    if output is None:
        return
    made, named = choice.format if choice else TEXT, format_of(output)
    if input and made == named and made in PACKED and format_of(input) == made:
        made, named = input.suffix.lower(), output.suffix.lower()  # .docm is not .docx
    if choice and named == TEXT:
        is_other = bool(hint(output)) or output.suffix.lower() == ".txt"
    else:
        is_other = named != made and (choice is not None or named in PACKED)
    if is_other:
        raise InputError(
            f"cannot write {output}: the translation has the format of the input, {made}",
            "a name for that format",
        )


def read_input(
    stream: BinaryIO, choice: DocumentChoice, path: Path | None, into: Path | None = None
) -> Document:
    """Read a whole document; path: of its file, for messages. Raises ModelError as `opened`.

    into: a file with some of its translations, which are taken over.
    """
    content = read_whole(stream, path or "the document")
    with naming(path) if path else nullcontext():
        document = opened(content, choice.format, choice.options)
    existing = into.read_bytes() if into and into.exists() else b""
    if not into or not existing.strip():
        return document
    from attncli.documents._completion import completed

    with naming(into):
        old = opened(existing, choice.format, choice.options)
        check_language(old, choice.options.to)
        whole, added = completed(document.content, old.content, choice.format)
        found = read_document(whole, choice.format, choice.options).segments
    edges = [edge for span in added for edge in span]
    segments = tuple(one for one in found if bisect_right(edges, one.start) % 2)
    return replace(old, content=whole, segments=segments, kept=())


def translate_document(
    document: Document,
    runner: TranslateRunner,
    write: Write,
    messages: Messages,
    *,
    shown: bool,
    doubts: Doubts | None = None,
) -> bool:
    """Translate, report and write a document; return True if all of it could be translated."""
    report, lines = OutputReport(name=named(document), doubts=doubts), lines_of(document)
    outcomes: list[TranslatedLine] = []
    with messages.progress("translating", total=len(lines), shown=shown) as advance:

        def show(done: int, total: int) -> None:
            current = min(CHUNK_LINES, len(lines) - len(outcomes))
            advance(len(outcomes) + current * done / total)

        runner.on_batch = show
        for chunk in runner.run(windows(lines, CHUNK_LINES)):
            outcomes += chunk
            for message in [*(one.note for one in chunk if one.note), *report.messages(chunk)]:
                messages.warn(message)
            advance(len(outcomes))
    summary = filter(None, [report.doubts.summary("text")])
    for message in [*report.totals(above=REPORTED), *left(document, outcomes), *summary]:
        messages.warn(message)
    write(written(document, outcomes))
    is_read = not any(one.is_fault for one in document.kept)
    return is_read and all(outcome.translation for outcome in outcomes)


def notes(document: Document, outcomes: Sequence[TranslatedLine]) -> Iterator[str]:
    """Yield all messages about a translated document, for people who may see no line numbers."""
    name = named(document, quoted=True)
    report = OutputReport(name=lambda n: name(n) if document.save else f"line {n}, {name(n)}")
    yield from (one.note for one in outcomes if one.note)
    yield from report.messages(outcomes)
    yield from report.totals(above=REPORTED)
    yield from listed(outcomes, name)
    yield from left(document, outcomes, quoted=True)


def decoded(content: bytes, format: str = "") -> tuple[str, str]:
    """Return the characters of a document and its encoding.

    It is the one that the document names, UTF-8, UTF-16 with a byte order mark, which stays, or
    Windows-1252. Raises InputError for another one, of which only noise would be read.
    """
    if named := DECLARED[format].match(content) if format in DECLARED else None:
        name = named[1].decode()
        with suppress(LookupError, UnicodeError):
            is_known = codecs.lookup(name).name not in OF_NAMES
            if is_known and is_unicode(named_text := content.decode(name)):
                return named_text, name
    encoding = UTF_16.get(content[:2], UTF_8)
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        text = western(content)
        if text is None or encoding != UTF_8:
            name = "UTF-8" if encoding == UTF_8 else "UTF-16"
            byte = f"byte 0x{content[error.start]:02x}, line {line}"
            raise InputError(f"a document that is not {name} ({byte})", name, CONVERT) from None
        return text, WESTERN


def opened(content: bytes, format: str, options: DocumentOptions) -> Document:
    """Return the segments of a file, of text its lines.

    Raises ModelError for a damaged file, and for text in UTF-16.
    """
    if format in PACKED:
        return read_document(content, format, options)
    if format == TEXT:
        check_text(content, "a text")
    text, encoding = decoded(content, format)
    read = read_lines(text) if format == TEXT else read_document(text, format, options)
    if any(one.kind == TRANSLATED for one in read.kept):
        check_language(read, options.to)
    if format == "po" and DECLARED[format].match(content):
        encoding = UTF_8  # as its header then says
    return replace(read, encoding=encoding, strict=format in STRICT)


def written(document: Document, outcomes: Sequence[TranslatedLine]) -> bytes:
    """Return the file of a document with the outcomes of its lines; see `translated`."""
    if document.save:
        return document.save([texts for *_, texts in _by_segment(document, outcomes)])
    text = translated(document, outcomes)
    try:
        is_xml = document.content.startswith(("<?xml", "\ufeff<?xml"))
        return text.encode(document.encoding, "xmlcharrefreplace" if is_xml else "strict")
    except UnicodeError:
        return text.encode()


def lines_of(document: Document) -> list[Line]:
    """Return a line for each text of each segment, with the line number of the segment.

    JSON and other formats with escapes can have half a character of UTF-16: such a text is faulty.
    """
    number_of = line_numbers(document.content)
    texts = ((one.start, text) for one in document.segments for text in one.texts)
    lines = [text_line(number_of(start), text) for start, text in texts]
    if any("$1" in line.text and has_dollar_names(line.text) for line in lines):
        lines = [line._replace(dollars=True) for line in lines]
    return lines


def translated(document: Document, outcomes: Sequence[TranslatedLine]) -> str:
    """Return the document with the outcomes of its lines; an incomplete segment stays unchanged."""
    each = [*_by_segment(document, outcomes)]
    doubtful = [n for n, (_, found, texts) in enumerate(each) if texts and _is_doubtful(found)]
    return reassemble(document, [texts for *_, texts in each], doubtful)


def left(
    document: Document, outcomes: Sequence[TranslatedLine], *, quoted: bool = False
) -> Iterator[str]:
    """Yield messages for the user: damaged parts, the encoding, texts that were not translated.

    quoted: name texts by their beginnings, for people who see no line numbers.
    """
    number_of, name = line_numbers(document.content), named(document, quoted=quoted)
    for fault in (one for one in document.kept if one.is_fault):
        yield f"{name(number_of(fault.start))}: {fault.kind}; left as it is"
    if document.encoding == WESTERN:
        yield "the document is not UTF-8: read and written as Windows-1252"
    kept = [one for one in document.kept if not one.is_fault]
    for segment, found, texts in _by_segment(document, outcomes):
        if texts is None or (texts and texts == segment.texts):
            kind = DOUBTFUL if document.strict and _is_doubtful(found) else UNTRANSLATED
            same = ALREADY if all(one.in_target for one in found) else UNCHANGED
            kept.append(Kept(segment.start, kind if texts is None else same))
    kept.sort(key=lambda one: one.kind)
    for kind, group in groupby(kept, lambda one: one.kind):
        at = sorted({number_of(one.start) for one in group})
        more = f" and {len(at) - REPORTED:,} more" if len(at) > REPORTED else ""
        yield f"left as they are: {kind}, {_listed([*map(name, at[:REPORTED])])}{more}"


def _listed(names: Sequence[str]) -> str:
    """Return names of lines or cells as one text, which names a sheet once for its cells."""
    if not all(CELL.fullmatch(name) for name in names):
        where = re.sub("^line (.*, line )", r"lines \1", ", ".join(names))
        return where.replace(", line ", ", ")
    sheets = groupby((name.rpartition(": ") for name in names), lambda parts: parts[0])
    return "; ".join(f"{sheet}: {', '.join(cell for *_, cell in cells)}" for sheet, cells in sheets)


def named(document: Document, *, quoted: bool = False) -> Callable[[int], str]:
    """Return the function from the number of a line to its name: its cell, beginning or number."""
    if document.places:
        return lambda number: document.places[number - 1]
    if not (quoted or document.save):
        return "line {}".format
    lines = [" ".join(OF_PIECES.sub(" ", line).split()) for line in document.content.split("\n")]
    begins = [f"“{text[:QUOTED]}{'…' if len(text) > QUOTED else ''}”" for text in lines]
    return lambda number: begins[number - 1]


def line_numbers(content: str) -> Callable[[int], int]:
    """Return the function from a position in a content to the number of its line, from 1."""
    ends = [found.start() for found in re.finditer("\n", content)]
    return lambda position: bisect_left(ends, position) + 1


def _by_segment(
    document: Document, outcomes: Sequence[TranslatedLine]
) -> Iterator[tuple[DocumentSegment, list[TranslatedLine], Texts | None]]:
    """Yield each segment, its outcomes, and its translations; None if it stays as it is."""
    rest = iter(outcomes)
    for segment in document.segments:
        found = [next(rest) for _ in segment.texts]
        texts = tuple(one.translation.text for one in found if one.translation)
        complete = len(texts) == len(found) and not any(
            (one.line.text.strip() and not text.strip()) or lacks_parts(one.checks)
            for one, text in zip(found, texts, strict=True)
        )
        left = document.strict and segment.flag < 0 and _is_doubtful(found)
        yield segment, found, texts if complete and not left else None


def _is_doubtful(found: Sequence[TranslatedLine]) -> bool:
    """Return True if a translation fails a check, or has other directives, as of printf."""
    texts = ((one.line.text, one.translation.text) for one in found if one.translation)
    pairs = ([sorted(DIRECTIVE.findall(text)) for text in pair] for pair in texts)
    return any(one.checks for one in found) or any(own != made for own, made in pairs)


def listed(lines: Sequence[TranslatedLine], name: Named) -> Iterator[str]:
    """Yield a message for each of the first doubtful lines, and the number of all."""
    doubtful = [one for one in lines if one.doubts]
    for one in doubtful[:LISTED]:
        yield f"{name(one.line.number)}: may have another sense; {one.doubt}"
    if len(doubtful) > LISTED:
        judged = sum(one.confidence is not None for one in lines)
        yield f"{len(doubtful):,} of {counted(judged, 'text')} may have another sense"
