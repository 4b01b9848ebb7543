r"""Lines of Markdown that CommonMark does not know: containers, admonitions, snippets, definitions.

Each is replaced by as many characters that CommonMark reads as the same structure, so that all
positions stay: a fence `:::` by a blank line, `!!! note`, whose text is indented, by a list item,
the `:` of a definition by the sign of one. Titles are texts. In code blocks nothing is replaced.
Sources: VitePress, Docusaurus, MkDocs (Python-Markdown, Material), Pandoc, MDX.
"""

from __future__ import annotations

import re

from models.core.types import Span

CODE = re.compile(r"[ \t]*(?:(?:[-*+>]|\d+[.)])[ \t]*)*(?P<fence>`{3,}|~{3,})(?P<rest>.*)")
ATTRIBUTES = r"\{[^{}]*\}"
CONTAINER = re.compile(  # ::: tip Title, :::note[Title], ::: {.class}
    rf"[ \t]*:{{3,}}(?!:)[ \t]*(?:(?:{ATTRIBUTES}|[\w:-]+(?![\w:-]))[ \t]*)?(?:{ATTRIBUTES}[ \t]*)?"
    r"(?:\[(?P<label>[^\]]*)\]|(?P<title>[^{}\[\] \t](?:[^{}\[\]]*[^{}\[\] \t])?)?)"
    rf"[ \t]*(?:{ATTRIBUTES}[ \t]*)?"
)
INDENTED = re.compile(  # !!! note "Title", ??? tip, === "Tab"
    r"(?P<indent>[ \t]*)(?:(?:!!!|\?\?\?\+?)[ \t]+[\w \t-]+|===[!+]?[ \t]+(?=\"))"
    r"(?:\"(?P<title>.*)\")?[ \t]*"
)
DEFINITION = re.compile(r"(?P<indent>[ \t]{0,3}):(?=[ \t]+\S)")
ABBREVIATION = re.compile(r"[ \t]*\*\[[^\]]+\]:[ \t]*(?P<title>.*?)[ \t]*")
KEPT = re.compile(
    r"[ \t]*(?:<<<[ \t].*|-{1,2}8<-{1,2}.*|@\[(?=.*\]\().*\)|@include\b.*|\[\[?_?(?:toc|TOC)_?\]?\]"
    r"|\\[A-Za-z]+(?:\{[^{}]*\}|\[[^\[\]]*\])*|\{(?:[:#.%]|/\*).*\}|\{\{.*\}\}"
    r"|</?[A-Z][\w.]*(?:[ \t][^<>]*)?/?>)[ \t]*"
)
SPACED = re.compile(r"\S[ \t]{20,}\S")  # no line of these; the patterns would take long
MODULE = re.compile(  # MDX; up to the next blank line
    r"import[ \t](?:.+[ \t]from[ \t]+)?['\"{].*|import[ \t].+[ \t]from[ \t]+['\"].*"
    r"|export[ \t]+(?:default|const|let|function|async|\{).*"
)


def as_common_mark(content: str) -> tuple[str, list[Span]]:
    """Return a content of the same length as CommonMark, and the places of the titles in it."""
    parts: list[str] = []
    titles: list[Span] = []
    fence, in_module = "", False
    for found in re.finditer(r"[^\r\n]*(?:\r\n|\n|\r|\Z)", content):
        line = found[0].rstrip("\r\n")
        code = CODE.fullmatch(line)
        if fence:
            ends = code and code["fence"].startswith(fence) and not code["rest"].strip()
            fence = "" if ends else fence
            new = line
        elif code:
            fence, new = code["fence"], line
        else:
            in_module = bool(line.strip()) and (in_module or bool(MODULE.fullmatch(line)))
            new = "" if in_module else _replaced(line, found.start(), titles)
        parts += [new.ljust(len(line)), found[0][len(line) :]]
    return "".join(parts), titles


def _replaced(line: str, start: int, titles: list[Span]) -> str:
    """Return what stands for a line; add the place of its title."""
    if SPACED.search(line):
        return line
    for pattern in (CONTAINER, INDENTED, ABBREVIATION):
        if found := pattern.fullmatch(line):
            groups = found.groupdict()
            spans = [found.span(name) for name in ("label", "title") if groups.get(name)]
            titles += ((start + first, start + last) for first, last in spans)
            return f"{found['indent']}- ***" if pattern is INDENTED else ""
    if found := DEFINITION.match(line):
        return f"{found['indent']}-{line[found.end() :]}"
    return "" if KEPT.fullmatch(line) else line
