"""Documents of word processors, which are XML in an archive; Word's (Office Open XML)."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lxml import etree

from attncli.documents.divide import TAB, inline_segments
from attncli.documents.document import Document, DocumentOptions, DocumentSegment, Texts, reassemble
from attncli.documents.inline import Piece, PieceKind
from attncli.documents.packed import Archive, not_of, read_archive, write_archive
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
    if not roots:
        raise not_of(format.kind)
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


# Word documents (Office Open XML): body, headers, footers and notes.
#
# A run is text with one formatting. Runs with the most frequent formatting of their paragraph have
# no tag; a field, a picture or a reference to a note is one placeholder. Source: ECMA-376, part 1.


W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
PRESERVE = ("{http://www.w3.org/XML/1998/namespace}space", "preserve")
NAMES = re.compile(r"word/(document|header\d*|footer\d*|footnotes|endnotes|styles)\.xml")
NESTED = (f"{W}hyperlink", f"{W}ins", f"{W}smartTag")  # elements that contain runs
DROPPED = (f"{W}proofErr", f"{W}lastRenderedPageBreak", f"{W}softHyphen")
RUN, FORMATTING, TEXT, HYPHEN, FIELD = (
    f"{W}{name}" for name in ("r", "rPr", "t", "noBreakHyphen", "fldChar")
)
BREAKS = (f"{W}br", f"{W}cr", f"{W}tab", f"{W}ptab")
PARAGRAPH_FORMATTING = f"{W}pPr"


def read(content: bytes, options: DocumentOptions) -> Document:
    """Return the text of the paragraphs."""
    return read_office(
        content,
        OfficeFormat(
            "a Word document",
            NAMES,
            paragraphs=lambda root: list(root.iter(f"{W}p")),
            parts=lambda paragraph: _of_children(paragraph, _usual(paragraph)),
            rebuild=_rebuild,
            language=(f"{W}lang", f"{W}val"),
        ),
        options.to,
    )


def _of_children(parent: Any, usual: str) -> Iterator[InlinePart]:
    """Yield the parts of a paragraph or a link; a field is one part."""
    field: list[Any] = []
    depth = 0
    for child in parent:
        kinds = [one.get(f"{W}fldCharType") for one in child.iter(FIELD)]
        depth += kinds.count("begin") - kinds.count("end")
        if depth > 0 or kinds:
            field.append(child)
            if depth <= 0:
                yield InlinePart("placeholder", element=tuple(field))
                field = []
        elif child.tag in NESTED:
            yield InlinePart("open", element=child)
            yield from _of_children(child, usual)
            yield InlinePart("close")
        elif child.tag == RUN:
            yield from _of_run(child, usual)
        elif child.tag not in (PARAGRAPH_FORMATTING, *DROPPED):
            yield InlinePart("void", element=(child,))
    if field:
        yield InlinePart("placeholder", element=tuple(field))


def _of_run(run: Any, usual: str) -> Iterator[InlinePart]:
    inner = [child for child in run if child.tag not in (FORMATTING, *DROPPED)]
    if any(child.tag not in (TEXT, HYPHEN, *BREAKS) for child in inner):
        yield InlinePart("placeholder" if len(run.findall(TEXT)) else "void", element=(run,))
        return
    tagged = formatting_of(run) != usual
    if tagged and inner:
        yield InlinePart("open", element=run)
    for child in inner:
        if child.tag in BREAKS:
            name = TAB if child.tag.endswith("tab") else "br"
            yield InlinePart("break", element=(child,), name=name)
        else:
            yield InlinePart("text", "-" if child.tag == HYPHEN else child.text or "")
    if tagged and inner:
        yield InlinePart("close")


def _usual(paragraph: Any) -> str:
    """Return the formatting of most characters of a paragraph."""
    sizes: Counter[str] = Counter()
    for run in paragraph.iter(RUN):
        sizes[formatting_of(run)] += sum(len(text.text or "") for text in run.findall(TEXT))
    return sizes.most_common(1)[0][0] if sizes else ""


def formatting_of(run: Any, tag: str = FORMATTING) -> str:
    """Return the formatting of a run as XML; empty without one."""
    found = run.find(tag)
    return "" if found is None else etree.tostring(found, encoding="unicode", with_tail=False)


def _rebuild(paragraph: Any, tokens: Sequence[Token]) -> None:
    formatting = _usual(paragraph)
    usual = next(run for run in paragraph.iter(RUN) if formatting_of(run) == formatting)
    for child in list(paragraph):
        if child.tag != PARAGRAPH_FORMATTING:
            paragraph.remove(child)
    at = [paragraph]  # the elements that are open
    for token in tokens:
        if token.part is None:
            _add_text(at[-1], usual, token.text)
        elif token.closes:
            at.pop()
        elif token.part.kind == "open":
            at.append(_shell(at[-1], token.part.element))
        elif token.part.kind == "break":
            parent = at[-1] if at[-1].tag == RUN else _shell(at[-1], usual)
            parent.append(copy.deepcopy(token.part.element[0]))
        else:  # not inside a run
            holder = at[-2] if at[-1].tag == RUN else at[-1]
            for element in token.part.element:
                element.tail = None
                holder.append(element)
            if holder is not at[-1]:
                at[-1] = _shell(holder, at[-1])


def _add_text(parent: Any, usual: Any, text: str) -> None:
    run = parent if parent.tag == RUN else _shell(parent, usual)
    element = run.makeelement(TEXT, dict([PRESERVE]))
    element.text = text
    run.append(element)


def _shell(parent: Any, like: Any) -> Any:
    """Append an element with the attributes and the formatting of another, but without text."""
    element = parent.makeelement(like.tag, dict(like.attrib))
    formatting = like.find(FORMATTING) if like.tag == RUN else None
    if formatting is not None:
        element.append(copy.deepcopy(formatting))
    parent.append(element)
    return element
