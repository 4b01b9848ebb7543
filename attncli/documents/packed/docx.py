"""Word documents (Office Open XML): body, headers, footers and notes.

A run is text with one formatting. Runs with the most frequent formatting of their paragraph have no
tag; a field, a picture or a reference to a note is one placeholder. Source: ECMA-376, part 1.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from lxml import etree

from attncli.documents.divide import TAB
from attncli.documents.document import Document, DocumentOptions
from attncli.documents.packed.office import InlinePart, OfficeFormat, Token, read_office

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
