"""PowerPoint presentations (Office Open XML): paragraphs of slides, tables and notes.

Source: ECMA-376, part 1, 21.1.2 (DrawingML text).
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from attncli.documents.divide import TAB
from attncli.documents.document import Document, DocumentOptions
from attncli.documents.packed.office import (
    InlinePart,
    OfficeFormat,
    Token,
    formatting_of,
    read_office,
)

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
NAMES = re.compile(r"ppt/(slides|notesSlides)/[^/]*\.xml")
RUN, TEXT, BREAK = f"{A}r", f"{A}t", f"{A}br"
OUTER = (f"{A}pPr", f"{A}endParaRPr")  # first and last of a paragraph


def read(content: bytes, options: DocumentOptions) -> Document:
    """Return the text of the paragraphs."""
    return read_office(
        content,
        OfficeFormat(
            "a PowerPoint presentation",
            NAMES,
            paragraphs=lambda root: list(root.iter(f"{A}p")),
            parts=_parts,
            rebuild=_rebuild,
            language=("*", "lang"),
        ),
        options.to,
    )


def _parts(paragraph: Any) -> Iterator[InlinePart]:
    usual = _usual(paragraph)
    for child in paragraph:
        if child.tag == RUN:
            tagged = formatting_of(child, f"{A}rPr") != usual
            if tagged:
                yield InlinePart("open", element=child)
            first, *others = re.split("([\t\v])", child.findtext(TEXT) or "")
            yield InlinePart("text", first)
            for sign, text in zip(others[::2], others[1::2], strict=True):
                name = TAB if sign == "\t" else "br"
                yield InlinePart("break", element=sign, name=name)
                yield InlinePart("text", text)
            if tagged:
                yield InlinePart("close")
        elif child.tag == BREAK:
            yield InlinePart("break", element=child)
        elif child.tag not in OUTER:
            yield InlinePart("placeholder", element=child)


def _usual(paragraph: Any) -> str:
    """Return the formatting of most characters of a paragraph."""
    sizes: Counter[str] = Counter()
    for run in paragraph.iter(RUN):
        sizes[formatting_of(run, f"{A}rPr")] += len(run.findtext(TEXT) or "")
    return sizes.most_common(1)[0][0] if sizes else ""


def _rebuild(paragraph: Any, tokens: Sequence[Token]) -> None:
    usual = _usual(paragraph)
    plain = next(run for run in paragraph.iter(RUN) if formatting_of(run, f"{A}rPr") == usual)
    last = paragraph.find(OUTER[1])
    for child in list(paragraph):
        if child.tag != OUTER[0]:
            paragraph.remove(child)
    like = [plain]  # the runs whose formatting is open
    for token in tokens:
        element = token.part.element if token.part else token.text
        if token.closes:
            like.pop()
        elif token.part and token.part.kind == "open":
            like.append(element)
        elif isinstance(element, str):
            run = copy.deepcopy(like[-1])
            run.find(TEXT).text = element
            paragraph.append(run)
        else:
            paragraph.append(copy.deepcopy(element))
    if last is not None:
        paragraph.append(last)
