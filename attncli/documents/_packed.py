"""Documents that are ZIP archives: the skeleton of office files, OpenDocument, and e-books."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lxml import etree
from lxml.etree import _Element as Node

from attncli.documents import _html_page as html_page
from attncli.documents._inline import TAB, Piece, PieceKind, inline_segments
from attncli.documents.document import (
    Document,
    DocumentOptions,
    DocumentPart,
    DocumentSegment,
    Texts,
    collected,
    language_segment,
    reassemble,
)
from models.core.errors import DamagedError, InputError
from models.core.limits import DIGITS, MIB, PACKED_TAGS, UNPACKED_BYTES

MARKED = re.compile(r"\.(?:xml|rels|x?html?|ncx|opf)$", re.I)  # files with tags
# zipfile expands files of other methods beyond the sizes that they declare
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, ValueError)
BEGIN, END = "\ue000", "\ue001"
SIGN = re.compile(f"{BEGIN}(/?)([0-9]+){END}")
SPACE = re.compile(r"\s+")
REGIONS = {"en": "US", "de": "DE", "fr": "FR", "es": "ES"}  # office programs want one
NO_LANGUAGE = "zxx"  # of ISO 639, for what is no text
XML_HEAD = {"encoding": "UTF-8", "xml_declaration": True, "standalone": True}
T = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
SHEET = f"{{urn:oasis:names:tc:opendocument:xmlns:office:1.0}}spreadsheet/{TABLE}table"
PARAGRAPHS = (f"{T}p", f"{T}h")
PAIRS = (f"{T}span", f"{T}a")
BREAKS = {f"{T}line-break": "br", f"{T}tab": TAB, f"{T}s": TAB}  # several spaces, like a tab
PAGES = (".xhtml", ".html", ".htm")
CONTENTS = ".ncx"  # the table of contents of EPUB 2
PACKAGE = ".opf"
LANGUAGE = re.compile(r"<dc:language\b[^<>]*>\s*(?P<code>[^<\s]*)")
LABEL = re.compile(r"(?<=<text>)[^<]+(?=</text>)")
BOOK = "an e-book"


class Archive(NamedTuple):
    """The files of an archive in its order."""

    files: Mapping[str, bytes]
    infos: tuple[zipfile.ZipInfo, ...]


def read_archive(content: bytes, kind: str) -> Archive:
    """Unpack an archive in memory.

    kind: for messages, such as "a Word document". Raises DamagedError if it cannot be unpacked, and
    InputError if it is larger than UNPACKED_BYTES, or has more tags than PACKED_TAGS.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = tuple(info for info in archive.infolist() if not info.is_dir())
            if any(info.compress_type not in METHODS for info in infos):
                raise InputError(f"{kind} with a file of another compression", "deflate, as usual")
            size = sum(info.file_size for info in infos)  # zipfile reads no more than this
            if size > UNPACKED_BYTES:
                raise InputError(
                    f"{kind} of {size:,} bytes, unpacked", f"at most {UNPACKED_BYTES:,}"
                )
            files = dict(_unpacked(archive, infos, kind))
    except (*BROKEN, EOFError) as error:
        raise DamagedError(
            f"{kind} that cannot be unpacked ({error})", "an undamaged file"
        ) from None
    return Archive(files, infos)


def _unpacked(
    archive: zipfile.ZipFile, infos: Iterable[zipfile.ZipInfo], kind: str
) -> Iterator[tuple[str, bytes]]:
    tags = 0
    for info in infos:
        content = io.BytesIO()
        with archive.open(info) as file:
            while part := file.read(MIB):
                content.write(part)
                if MARKED.search(info.filename):
                    # counted before parsing: each tag becomes an object of many times its size
                    tags += part.count(b"<") + part.count(b"=")
                if tags > PACKED_TAGS:
                    found = f"{kind} of more than {PACKED_TAGS:,} tags and attributes"
                    raise InputError(found, "fewer")
        yield info.filename, content.getvalue()  # no copy


def write_archive(archive: Archive, changed: Mapping[str, bytes]) -> bytes:
    """Return an archive with some files changed; all others, and the order, stay."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as written:
        for old in archive.infos:
            # the old time, so that equal translations give equal files
            info = zipfile.ZipInfo(old.filename, old.date_time)
            info.compress_type, info.external_attr = old.compress_type, old.external_attr
            written.writestr(info, changed.get(old.filename, archive.files[old.filename]))
    return buffer.getvalue()


def _not_of(kind: str) -> DamagedError:
    return DamagedError(f"not {kind}", "the format that the end of its name tells")


class InlinePart(NamedTuple):
    """Text or one markup of a paragraph."""

    kind: PieceKind
    text: str = ""  # of text
    element: Any = None  # of markup, except for "close"
    name: str = "g"  # of a tab: `attncli.documents._inline.TAB`


CLOSE = InlinePart("close")


class OfficeFormat(NamedTuple):
    """The functions of one format."""

    kind: str  # for messages
    names: re.Pattern[str]  # of the files of an archive that have text
    paragraphs: Callable[[Node], Iterable[Node]]  # of the root of a file
    parts: Callable[[Node], Iterator[InlinePart]]  # of a paragraph
    rebuild: Callable[[Node, Iterable[InlinePart]], None]  # a paragraph from the parts of its line
    language: tuple[str, str] = ("", "")  # element ("*": any) and attribute of a language
    country: str = ""  # attribute of its country, where that is apart
    # of a table: from the roots of the files to the names of the paragraphs
    cells: Callable[[Mapping[str, Node]], dict[Node, str]] | None = None


def read_office(content: bytes, format: OfficeFormat, to: str = "") -> Document:
    """Return the paragraphs of a document. Raises DamagedError if it cannot be read.

    A paragraph is read as a line, in which a sign with its number stands for each markup, and built
    again from the parts of the changed line. to: language of the translation, by which programs
    then check the spelling.
    """
    archive = read_archive(content, format.kind)
    names = filter(format.names.fullmatch, archive.files)
    roots = {name: _parsed(archive.files[name], format) for name in names}
    if not roots:
        raise _not_of(format.kind)
    elements = [element for root in roots.values() for element in format.paragraphs(root)]
    parts = [tuple(format.parts(element)) for element in elements]
    lines: list[str] = []
    segments: list[DocumentSegment] = []
    at = 0
    for each in parts:
        pieces = [*_pieces(each, at)]
        lines.append("".join(piece.raw for piece in pieces))
        segments += inline_segments(pieces)
        at += len(lines[-1]) + 1
    cells = format.cells(roots) if format.cells else {}
    places = tuple(cells.get(one, f"text {n}") for n, one in enumerate(elements, 1) if cells)
    document = Document("".join(f"{line}\n" for line in lines), tuple(segments), places=places)

    def save(translations: Sequence[Texts | None]) -> bytes:
        changed = reassemble(document, translations).split("\n")
        touched = {*(roots.values() if to and format.language[0] else ())}
        for element, old, new, each in zip(elements, lines, changed, parts, strict=False):
            if new != old:
                format.rebuild(element, _changed_parts(new, each))
                touched.add(element.getroottree().getroot())
        for root in touched if to and format.language[0] else ():
            _name_language(root, format, to)
        trees = {name: root.getroottree() for name, root in roots.items() if root in touched}
        files = {name: etree.tostring(tree, **XML_HEAD) for name, tree in trees.items()}
        return write_archive(archive, files)

    return replace(document, save=save)


def _parsed(content: bytes, format: OfficeFormat) -> Node:
    """Return the root of an XML file. Entities are not read, nor other files."""
    # entities can expand to gigabytes (billion laughs) or read other files
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        return etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DamagedError(f"{format.kind} with damaged text ({error})", "XML") from None


def _pieces(parts: Sequence[InlinePart], at: int) -> Iterator[Piece]:
    """Yield the pieces of the line of a paragraph, which begins at this position."""
    inside: list[int] = []
    for number, part in enumerate(parts):
        text = SPACE.sub(" ", part.text).replace(BEGIN, "").replace(END, "")
        raw = f"{BEGIN}{number}{END}"
        if part.kind == "text":
            raw = text
        elif part.kind == "close":
            raw = f"{BEGIN}/{inside.pop()}{END}"
        elif part.kind == "open":
            inside.append(number)
        yield Piece(part.kind, at, at + len(raw), raw, text, part.name)
        at += len(raw)


def _changed_parts(line: str, parts: Sequence[InlinePart]) -> Iterator[InlinePart]:
    """Yield the texts of a changed line, and the parts for which its signs stand."""
    at = 0
    for found in [*SIGN.finditer(line), None]:
        end = found.start() if found else len(line)
        if at < end:
            yield InlinePart("text", line[at:end])
        if found:
            yield CLOSE if found[1] else parts[int(found[2])]
            at = found.end()


def _name_language(root: Node, format: OfficeFormat, to: str) -> None:
    name, attribute = format.language
    region = REGIONS.get(to, "")
    code = to if format.country or not region else f"{to}-{region}"
    for element in root.iter(name):
        # what is no text has no language, and must stay so
        if element.get(attribute, NO_LANGUAGE) not in (NO_LANGUAGE, "none", ""):
            element.set(attribute, code)
            if format.country:
                element.set(format.country, region or "none")


def read_open_document(content: bytes, options: DocumentOptions) -> Document:
    """Return the text of paragraphs, cells and notes, as LibreOffice writes them.

    Source: OASIS, Open Document Format for Office Applications 1.3, part 3.
    """
    format = OfficeFormat(
        "an OpenDocument file",
        re.compile(r"(content|styles)\.xml"),
        _paragraphs,
        _parts,
        _rebuild,
        ("*", f"{FO}language"),
        country=f"{FO}country",
        cells=_cells,
    )
    return read_office(content, format, options.to)


def _cells(roots: Mapping[str, Node]) -> dict[Node, str]:
    """Return the sheet and the cell of each paragraph of a spreadsheet."""
    found: dict[Node, str] = {}
    for sheet in (one for root in roots.values() for one in root.iterfind(f".//{SHEET}")):
        row = 1
        for line in sheet.iter(f"{TABLE}table-row"):
            column = 1
            for cell in line:
                place = f"{sheet.get(f'{TABLE}name')}: {_letters(column)}{row}"
                found |= dict.fromkeys(cell.iter(*PARAGRAPHS), place)
                column += _repeated(cell, "columns")
            row += _repeated(line, "rows")
    return found


def _letters(column: int) -> str:
    before, last = divmod(column - 1, 26)
    return (_letters(before) if before else "") + chr(ord("A") + last)


def _repeated(element: Node, what: str) -> int:
    number = element.get(f"{TABLE}number-{what}-repeated", "1")
    return int(number) if number.isdecimal() and len(number) < DIGITS else 1


def _paragraphs(root: Node) -> list[Node]:
    changes = root.iter(f"{T}tracked-changes")
    # paragraphs that tracked changes have deleted are still in the file
    deleted = {one for element in changes for one in element.iter(*PARAGRAPHS)}
    return [element for element in root.iter(*PARAGRAPHS) if element not in deleted]


def _parts(parent: Node) -> Iterator[InlinePart]:
    if parent.text:
        yield InlinePart("text", parent.text)
    for child in parent:
        if child.tag in PAIRS:
            yield InlinePart("open", element=child)
            yield from _parts(child)
            yield CLOSE
        # one space is text; several are layout, like a tab
        elif child.tag == f"{T}s" and child.get(f"{T}c", "1") == "1":
            yield InlinePart("text", " ")
        elif child.tag in BREAKS:
            yield InlinePart("break", element=child, name=BREAKS[child.tag])
        else:
            yield InlinePart("void", element=child)
        if child.tail:
            yield InlinePart("text", child.tail)


def _rebuild(paragraph: Node, parts: Iterable[InlinePart]) -> None:
    for child in list(paragraph):
        paragraph.remove(child)
    paragraph.text = None
    inside = [paragraph]  # the elements that are open
    for kind, text, element, _ in parts:
        parent = inside[-1]
        if kind == "close":
            inside.pop()
        elif kind == "text" and len(parent):
            parent[-1].tail = (parent[-1].tail or "") + text
        elif kind == "text":
            parent.text = (parent.text or "") + text
        elif kind == "open":
            inside.append(element.makeelement(element.tag, dict(element.attrib)))
            parent.append(inside[-1])
        else:
            element.tail = None
            parent.append(element)


def read_book(content: bytes, options: DocumentOptions) -> Document:
    """Return the text of all pages, which are HTML, and of the table of contents.

    Raises DamagedError for an encrypted or damaged book.
    """
    archive = read_archive(content, BOOK)
    pages: dict[str, Document] = {}
    for name, file in archive.files.items():
        if name.lower().endswith((*PAGES, CONTENTS, PACKAGE)):
            try:
                page = file.decode("utf-8")
            except UnicodeDecodeError:
                found = f"{BOOK} with a page that is not text ({name})"
                raise DamagedError(found, "no encryption") from None
            pages[name] = collected(page, _page_parts(name.lower(), page, options))
    if not pages:
        raise _not_of(BOOK)
    at, parts = 0, list[DocumentPart]()
    for document in pages.values():
        parts += [one.moved(at) for one in document.segments]
        parts += [one._replace(start=one.start + at) for one in document.kept]
        at += len(document.content)

    def save(translations: Sequence[Texts | None]) -> bytes:
        rest = iter(translations)
        changed = {
            name: reassemble(page, [next(rest) for _ in page.segments]).encode()
            for name, page in pages.items()
        }
        return write_archive(archive, changed)

    whole = "".join(document.content for document in pages.values())
    return replace(collected(whole, parts), save=save)


def _page_parts(name: str, content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    if name.endswith(PACKAGE):
        for code in LANGUAGE.finditer(content) if options.to else ():
            yield language_segment(code.span("code"), options.to)
    elif name.endswith(CONTENTS):
        for label in LABEL.finditer(content):
            yield from html_page.read(content, start=label.start(), end=label.end())
    else:
        yield from html_page.read(content, options)
