"""Documents of word processors, which are XML in an archive.

The content of a document has one line for each paragraph. In the line, an element of markup is a
sign: its number between two private characters. `inline_segments` handles signs like tags. Only a
paragraph whose line has changed is rebuilt, by a function of its format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lxml import etree

from attncli.documents.divide import inline_segments
from attncli.documents.document import Document, DocumentSegment, Texts, reassemble
from attncli.documents.inline import Piece, PieceKind
from attncli.documents.packed import Archive, read_archive, write_archive
from models.base.errors import DamagedError

BEGIN, END = "\ue000", "\ue001"
SIGN = re.compile(f"{BEGIN}(/?)([0-9]+){END}")
SPACE = re.compile(r"\s+")
REGIONS = {"en": "US", "de": "DE", "fr": "FR", "es": "ES"}  # office programs want one
NO_LANGUAGE = "zxx"  # of ISO 639, for what is no text


class InlinePart(NamedTuple):
    """Text or one markup of a paragraph."""

    kind: PieceKind
    text: str = ""  # of text
    element: Any = None  # of markup
    name: str = "g"  # of a tab: `attncli.documents.divide.TAB`


class Token(NamedTuple):
    """Text or a sign of a changed line."""

    text: str
    part: InlinePart | None = None  # None: text
    closes: bool = False


class OfficeFormat(NamedTuple):
    """The functions of one format."""

    kind: str  # for messages
    names: re.Pattern[str]  # of the files of an archive that have text
    paragraphs: Callable[[Any], list[Any]]  # of the root of a file
    parts: Callable[[Any], Iterator[InlinePart]]  # of a paragraph
    rebuild: Callable[[Any, Sequence[Token]], None]  # a paragraph from the tokens of its line
    language: tuple[str, str] = ("", "")  # element ("*": any) and attribute of a language
    country: str = ""  # attribute of its country, where that is apart


class Paragraph(NamedTuple):
    """A paragraph and its line."""

    element: Any
    parts: tuple[InlinePart, ...]  # a sign has the number of its part
    line: str
    segments: list[DocumentSegment]


def read_office(content: bytes, format: OfficeFormat, to: str = "") -> Document:
    """Return the paragraphs of a document. Raises DamagedError if it cannot be read.

    to: language of the translation, which programs then check the spelling of.
    """
    archive = read_archive(content, format.kind)
    names = filter(format.names.fullmatch, archive.files)
    roots = {name: _parsed(archive.files[name], format) for name in names}
    paragraphs: list[Paragraph] = []
    at = 0
    for root in roots.values():
        for element in format.paragraphs(root):
            paragraphs.append(_paragraph(element, tuple(format.parts(element)), at))
            at += len(paragraphs[-1].line) + 1
    lines = "".join(f"{paragraph.line}\n" for paragraph in paragraphs)
    segments = tuple(segment for paragraph in paragraphs for segment in paragraph.segments)
    document = Document(lines, segments)

    def save(translations: Sequence[Texts | None]) -> bytes:
        changed = reassemble(document, translations).split("\n")
        for paragraph, line in zip(paragraphs, changed, strict=False):
            if line != paragraph.line:
                format.rebuild(paragraph.element, list(_tokens(line, paragraph.parts)))
        for root in roots.values() if to and format.language[0] else ():
            _name_language(root, format, to)
        return _written(archive, roots)

    return Document(lines, segments, save=save)


def _name_language(root: Any, format: OfficeFormat, to: str) -> None:
    name, attribute = format.language
    region = REGIONS.get(to, "")
    code = to if format.country or not region else f"{to}-{region}"
    for element in root.iter(name):
        if element.get(attribute, NO_LANGUAGE) not in (NO_LANGUAGE, "none", ""):
            element.set(attribute, code)
            if format.country:
                element.set(format.country, region or "none")


def _written(archive: Archive, roots: Mapping[str, Any]) -> bytes:
    head = {"encoding": "UTF-8", "xml_declaration": True, "standalone": True}
    files = {name: etree.tostring(root.getroottree(), **head) for name, root in roots.items()}
    return write_archive(archive, files)


def _parsed(content: bytes, format: OfficeFormat) -> Any:
    """Return the root of an XML file. Entities are not read, nor other files."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        return etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DamagedError(f"{format.kind} with damaged text ({error})", "XML") from None


def _paragraph(element: Any, parts: tuple[InlinePart, ...], start: int) -> Paragraph:
    pieces: list[Piece] = []
    inside: list[int] = []
    at = start
    for number, part in enumerate(parts):
        if part.kind == "close":
            raw = f"{BEGIN}/{inside.pop()}{END}"
        elif part.kind == "text":
            raw = SPACE.sub(" ", part.text).replace(BEGIN, "").replace(END, "")
        else:
            raw = f"{BEGIN}{number}{END}"
        if part.kind == "open":
            inside.append(number)
        text = raw if part.kind == "text" else ""
        pieces.append(Piece(part.kind, at, at + len(raw), raw, text, part.name))
        at += len(raw)
    line = "".join(piece.raw for piece in pieces)
    return Paragraph(element, parts, line, inline_segments(pieces))


def _tokens(line: str, parts: Sequence[InlinePart]) -> Iterator[Token]:
    at = 0
    for found in SIGN.finditer(line):
        if at < found.start():
            yield Token(line[at : found.start()])
        yield Token("", parts[int(found[2])], bool(found[1]))
        at = found.end()
    if at < len(line):
        yield Token(line[at:])
