"""OpenDocument texts, slides and tables, as LibreOffice writes them: paragraphs, cells, notes.

Source: OASIS, Open Document Format for Office Applications 1.3, part 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from attncli.documents.divide import TAB
from attncli.documents.document import Document, DocumentOptions
from attncli.documents.packed.office import InlinePart, OfficeFormat, Token, read_office

T = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
PARAGRAPHS = (f"{T}p", f"{T}h")
PAIRS = (f"{T}span", f"{T}a")
BREAKS = {f"{T}line-break": "br", f"{T}tab": TAB}
NAMES = re.compile(r"(content|styles)\.xml")
DELETED = f"{T}tracked-changes"


def read(content: bytes, options: DocumentOptions) -> Document:
    """Return the text of the paragraphs."""
    language, country = ("*", f"{FO}language"), f"{FO}country"
    format = OfficeFormat(
        "an OpenDocument file", NAMES, _paragraphs, _parts, _rebuild, language, country
    )
    return read_office(content, format, options.to)


def _paragraphs(root: Any) -> list[Any]:
    deleted = {one for element in root.iter(DELETED) for one in element.iter(*PARAGRAPHS)}
    return [element for element in root.iter(*PARAGRAPHS) if element not in deleted]


def _parts(parent: Any) -> Iterator[InlinePart]:
    if parent.text:
        yield InlinePart("text", parent.text)
    for child in parent:
        if child.tag in PAIRS:
            yield InlinePart("open", element=child)
            yield from _parts(child)
            yield InlinePart("close")
        elif child.tag == f"{T}s":
            yield InlinePart("text", " ")
        elif child.tag in BREAKS:
            yield InlinePart("break", element=child, name=BREAKS[child.tag])
        else:
            yield InlinePart("void", element=child)
        if child.tail:
            yield InlinePart("text", child.tail)


def _rebuild(paragraph: Any, tokens: Sequence[Token]) -> None:
    for child in list(paragraph):
        paragraph.remove(child)
    paragraph.text = None
    at = [paragraph]  # the elements that are open
    for token in tokens:
        if token.part is None:
            _add_text(at[-1], token.text)
        elif token.closes:
            at.pop()
        else:
            element = token.part.element
            if token.part.kind == "open":
                element = element.makeelement(element.tag, dict(element.attrib))
                at[-1].append(element)
                at.append(element)
            else:
                element.tail = None
                at[-1].append(element)


def _add_text(parent: Any, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
