"""Word, PowerPoint and Excel (Office Open XML). Source: ECMA-376, part 1.

A run is text with one formatting. Runs with the most frequent formatting of their paragraph have
no tag; a picture, a reference to a note, or a field that is no link is one placeholder.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from lxml import etree
from lxml.etree import _Element as Node

from attncli.documents._inline import TAB
from attncli.documents._packed import CLOSE, InlinePart, OfficeFormat, read_office
from attncli.documents.document import Document, DocumentOptions

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
RELATED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
R = "{http://schemas.openxmlformats.org/package/2006/relationships}"
S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
SPACES = " {3,}"  # in place of a tab
PRESERVE = ("{http://www.w3.org/XML/1998/namespace}space", "preserve")
NESTED = (f"{W}hyperlink", f"{W}ins", f"{W}smartTag")  # elements that contain runs
DROPPED = (f"{W}proofErr", f"{W}lastRenderedPageBreak", f"{W}softHyphen")
RUN, FORMATTING, TEXT, HYPHEN = (f"{W}{name}" for name in ("r", "rPr", "t", "noBreakHyphen"))
BREAKS = (f"{W}br", f"{W}cr", f"{W}tab", f"{W}ptab")
PARAGRAPH_FORMATTING = f"{W}pPr"
LINK = re.compile(r"\s*HYPERLINK\b")  # the code of a field whose result is text of the author
OUTER = (f"{A}pPr", f"{A}endParaRPr")  # first and last of a paragraph


def formatting_of(run: Node, space: str) -> str:
    """Return the formatting of a run as XML; empty without one. space: its namespace."""
    found = run.find(f"{space}rPr")
    return "" if found is None else etree.tostring(found, encoding="unicode", with_tail=False)


def usual_formatting(paragraph: Node, space: str) -> tuple[str, Node]:
    """Return the formatting of most characters of a paragraph, and the first run that has it."""
    sizes: Counter[str] = Counter()
    first: dict[str, Node] = {}
    for run in paragraph.iter(f"{space}r"):
        if texts := run.findall(f"{space}t"):
            formatting = formatting_of(run, space)
            first.setdefault(formatting, run)
            sizes[formatting] += sum(len(text.text or "") for text in texts)
    usual = sizes.most_common(1)[0][0] if sizes else ""
    return usual, first.get(usual)


def clear(element: Node, *, but: str = "") -> None:
    """Remove the children of an element, except for those of one tag."""
    for child in list(element):
        if child.tag != but:
            element.remove(child)


def read_word(content: bytes, options: DocumentOptions) -> Document:
    """Return the text of the paragraphs of a Word document: body, headers, footers and notes."""
    format = OfficeFormat(
        "a Word document",
        re.compile(r"word/(document|header\d*|footer\d*|footnotes|endnotes|styles)\.xml"),
        lambda root: root.iter(f"{W}p"),
        lambda paragraph: _word_parts(paragraph, usual_formatting(paragraph, W)[0]),
        _rebuild_word,
        (f"{W}lang", f"{W}val"),
    )
    return read_office(content, format, options.to)


def _word_parts(parent: Node, usual: str) -> Iterator[InlinePart]:
    """Yield the parts of a paragraph or a link; a field is one part."""
    field: list[tuple[Node, list[str]]] = []  # its runs with the marks in each
    depth = 0
    for child in parent:
        kinds = [one.get(f"{W}fldCharType") for one in child.iter(f"{W}fldChar")]
        depth += kinds.count("begin") - kinds.count("end")
        if depth > 0 or kinds:
            field.append((child, kinds))
            if depth <= 0:
                yield from _field_parts(field, usual)
                field = []
        elif child.tag in NESTED or LINK.match(child.get(f"{W}instr") or ""):
            yield InlinePart("open", element=child)
            yield from _word_parts(child, usual)
            yield CLOSE
        elif child.tag == RUN:
            yield from _run_parts(child, usual)
        elif child.tag not in (PARAGRAPH_FORMATTING, *DROPPED):
            yield InlinePart("void", element=(child,))
    if field:
        yield InlinePart("placeholder", element=tuple(one for one, _ in field))


def _field_parts(field: list[tuple[Node, list[str]]], usual: str) -> Iterator[InlinePart]:
    """Yield the parts of a link's text between the runs of its field; another field is one part."""
    runs = [one for one, _ in field]
    cut = 1 + next((n for n, (_, kinds) in enumerate(field) if "separate" in kinds), -1)
    code = "".join(part.text or "" for one in runs[:cut] for part in one.iter(f"{W}instrText"))
    has_text = any(one.find(f".//{TEXT}") is not None for one in (*runs[:cut], runs[-1]))
    if not LINK.match(code) or has_text or field[-1][1] != ["end"]:
        yield InlinePart("placeholder", element=tuple(runs))
        return
    yield InlinePart("open", element=(runs[:cut], runs[-1:]))
    yield from _word_parts(runs[cut:-1], usual)
    yield CLOSE


def _run_parts(run: Node, usual: str) -> Iterator[InlinePart]:
    inner = [child for child in run if child.tag not in (FORMATTING, *DROPPED)]
    if any(child.tag not in (TEXT, HYPHEN, *BREAKS) for child in inner):
        yield InlinePart("placeholder" if len(run.findall(TEXT)) else "void", element=(run,))
        return
    tagged = inner and formatting_of(run, W) != usual
    if tagged:
        yield InlinePart("open", element=run)
    for child in inner:
        if child.tag in BREAKS:
            name = TAB if child.tag.endswith("tab") else "br"
            yield InlinePart("break", element=(child,), name=name)
        else:
            yield from _texts("-" if child.tag == HYPHEN else child.text, f"({SPACES})")
    if tagged:
        yield CLOSE


def _rebuild_word(paragraph: Node, parts: Iterable[InlinePart]) -> None:
    _, usual = usual_formatting(paragraph, W)
    clear(paragraph, but=PARAGRAPH_FORMATTING)
    inside = [paragraph]  # the elements that are open
    ends: list[list[Node]] = []  # what follows each of them: the end of a field
    for kind, text, element, _ in parts:
        parent = inside[-1]
        if kind == "close":
            inside.pop()
            inside[-1].extend(ends.pop())
        elif kind == "open":
            start, end = element if isinstance(element, tuple) else ([], [])
            parent.extend(start)
            inside.append(parent if start else _append_like(element, parent))
            ends.append(end)
        elif kind in ("text", "break"):
            run = parent if parent.tag == RUN else _append_like(usual, parent)
            if kind == "text" or isinstance(element, str):
                run.append(_text_element(parent, TEXT, text or element))
            else:
                run.append(copy.deepcopy(element[0]))
        else:  # not inside a run
            holder = inside[-2] if parent.tag == RUN else parent
            for one in element:
                one.tail = None
                holder.append(one)
            if holder is not parent:
                inside[-1] = _append_like(parent, holder)


def _append_like(like: Node, parent: Node) -> Node:
    """Append an element with the attributes and the formatting of another, but without text."""
    element = parent.makeelement(like.tag, dict(like.attrib))
    formatting = like.find(FORMATTING) if like.tag == RUN else None
    if formatting is not None:
        element.append(copy.deepcopy(formatting))
    parent.append(element)
    return element


def _text_element(parent: Node, tag: str, text: str) -> Node:
    element = parent.makeelement(tag, dict([PRESERVE]))
    element.text = text
    return element


def read_slides(content: bytes, options: DocumentOptions) -> Document:
    """Return the text of the paragraphs of slides, tables and notes (21.1.2, DrawingML text)."""
    format = OfficeFormat(
        "a PowerPoint presentation",
        re.compile(r"ppt/(presentation|(slides|notesSlides)/[^/]*)\.xml"),
        lambda root: root.iter(f"{A}p"),
        _slide_parts,
        _rebuild_slide,
        ("*", "lang"),
    )
    return read_office(content, format, options.to)


def _slide_parts(paragraph: Node) -> Iterator[InlinePart]:
    usual, _ = usual_formatting(paragraph, A)
    for child in paragraph:
        if child.tag == f"{A}r" and child.find(f"{A}t") is not None:
            tagged = formatting_of(child, A) != usual
            if tagged:
                yield InlinePart("open", element=child)
            yield from _texts(child.findtext(f"{A}t"), rf"([\t\v]|{SPACES})")
            if tagged:
                yield CLOSE
        elif child.tag == f"{A}br":
            yield InlinePart("break", element=child)
        elif child.tag not in OUTER:
            yield InlinePart("placeholder", element=child)


def _rebuild_slide(paragraph: Node, parts: Iterable[InlinePart]) -> None:
    like = [usual_formatting(paragraph, A)[1]]  # the runs whose formatting is open
    last = paragraph.find(OUTER[1])
    clear(paragraph, but=OUTER[0])
    for kind, text, element, _ in parts:
        if kind == "close":
            like.pop()
        elif kind == "open":
            like.append(element)
        elif kind == "text" or isinstance(element, str):
            run = copy.deepcopy(like[-1])
            run.find(f"{A}t").text = text or element
            paragraph.append(run)
        else:
            paragraph.append(copy.deepcopy(element))
    if last is not None:
        paragraph.append(last)


def read_sheets(content: bytes, options: DocumentOptions) -> Document:
    """Return the texts of the cells of a workbook: shared, in a cell, of a comment (18.4).

    Formulas, numbers and names stay. Cells with the same text share it.
    """
    format = OfficeFormat(
        "an Excel workbook",
        re.compile(
            r"xl/(workbook|sharedStrings|worksheets/[^/]*|comments\d*|comments/[^/]*)\.xml"
            r"|xl/(worksheets/)?_rels/[^/]*\.rels"
        ),
        lambda root: root.iter(f"{S}si", f"{S}is", f"{S}text"),
        _cell_parts,
        _rebuild_cell,
        cells=_cells,
    )
    return read_office(content, format)


def _cells(roots: Mapping[str, Node]) -> dict[Node, str]:
    """Return the sheet and the cell of each text, also of a comment; of a shared one, the first."""

    def every(*tags: str) -> list[tuple[str, Node]]:
        return [(path, one) for path, root in roots.items() for one in root.iter(*tags)]

    titles = {one.get(f"{RELATED}id"): one.get("name") for _, one in every(f"{S}sheet")}
    sheets: dict[str, str] = {}  # from the name of a file to that of its sheet
    for path, one in sorted(every(f"{R}Relationship"), key=itemgetter(0)):  # the workbook's first
        owner = path.split("/")[-1].removesuffix(".rels")
        title = titles.get(one.get("Id")) if owner == "workbook.xml" else sheets.get(owner)
        sheets.setdefault(one.get("Target", "").split("/")[-1], title or "")
    shared = {str(number): one for number, (_, one) in enumerate(every(f"{S}si"))}
    found: dict[Node, str] = {}
    for path, cell in every(f"{S}c", f"{S}comment"):
        number = cell.findtext(f"{S}v", "") if cell.get("t") == "s" else ""
        texts = [shared[number]] if number in shared else cell.iter(f"{S}is", f"{S}text")
        place = f"{sheets.get(path.split('/')[-1])}: {cell.get('r') or cell.get('ref')}"
        found.update((one, place) for one in texts if one not in found)
    return found


def _texts(text: str | None, signs: str) -> Iterator[InlinePart]:
    """Yield the texts between some signs, which are breaks."""
    for number, part in enumerate(re.split(signs, text or "")):
        name = TAB if part[:1] in ("\t", " ") else "g"
        is_break = number % 2
        yield InlinePart("break", element=part, name=name) if is_break else InlinePart("text", part)


def _cell_parts(holder: Node) -> Iterator[InlinePart]:
    for child in holder:
        if child.tag == f"{S}r":
            yield InlinePart("open", element=child)
            yield from _cell_parts(child)
            yield CLOSE
        elif child.tag == f"{S}t":
            yield from _texts(child.text, rf"(\n|{SPACES})")


def _rebuild_cell(holder: Node, parts: Iterable[InlinePart]) -> None:
    is_rich = any(child.tag == f"{S}r" for child in holder)
    clear(holder)  # also how Japanese is spoken, which would fit no longer
    run: Node = None
    for kind, text, element, _ in parts:
        if kind == "close":
            run = None
        elif kind == "open":
            run = copy.deepcopy(element)
            for one in run.findall(f"{S}t"):
                run.remove(one)
            holder.append(run)
        else:
            if run is None and is_rich:
                run = holder.makeelement(f"{S}r")
                holder.append(run)
            parent = holder if run is None else run
            if len(parent) and parent[-1].tag == f"{S}t":
                parent[-1].text += text or element
            else:
                parent.append(_text_element(parent, f"{S}t", text or element))
