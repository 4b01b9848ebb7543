"""Excel workbooks (Office Open XML): the texts of cells; formulas, numbers and names stay.

Cells with the same text share it, so it is translated once. Source: ECMA-376, part 1, 18.4.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from typing import Any

from attncli.documents.document import Document, DocumentOptions
from attncli.documents.packed.office import PRESERVE, InlinePart, OfficeFormat, Token, read_office

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
NAMES = re.compile(r"xl/(sharedStrings|worksheets/[^/]*|comments\d*)\.xml")
HOLDERS = (f"{S}si", f"{S}is", f"{S}text")  # shared, in a cell, of a comment
RUN, TEXT = f"{S}r", f"{S}t"


def read(content: bytes, options: DocumentOptions) -> Document:
    """Return the texts of the cells."""
    format = OfficeFormat("an Excel workbook", NAMES, _holders, _parts, _rebuild)
    return read_office(content, format)


def _holders(root: Any) -> list[Any]:
    return list(root.iter(*HOLDERS))


def _parts(holder: Any) -> Iterator[InlinePart]:
    for child in holder:
        if child.tag == TEXT:
            yield from _texts(child)
        elif child.tag == RUN:
            yield InlinePart("open", element=child)
            for text in child.findall(TEXT):
                yield from _texts(text)
            yield InlinePart("close")


def _texts(element: Any) -> Iterator[InlinePart]:
    """Yield the lines of a text, and the breaks between them."""
    first, *others = (element.text or "").split("\n")
    yield InlinePart("text", first)
    for text in others:
        yield InlinePart("break", element="\n")
        yield InlinePart("text", text)


def _rebuild(holder: Any, tokens: Sequence[Token]) -> None:
    rich = any(child.tag == RUN for child in holder)
    for child in list(holder):
        holder.remove(child)  # also how Japanese is spoken, which would fit no longer
    run: Any = None
    for token in tokens:
        if token.closes:
            run = None
        elif token.part and token.part.kind == "open":
            run = copy.deepcopy(token.part.element)
            for text in run.findall(TEXT):
                run.remove(text)
            holder.append(run)
        else:
            if run is None and rich:
                run = holder.makeelement(RUN)
                holder.append(run)
            _add(holder if run is None else run, token.part.element if token.part else token.text)


def _add(parent: Any, text: str) -> None:
    if len(parent) and parent[-1].tag == TEXT:
        parent[-1].text += text
        return
    element = parent.makeelement(TEXT, dict([PRESERVE]))
    element.text = text
    parent.append(element)
