"""HTML: the text of paragraphs, headings, cells and other blocks, with its inline elements.

Python's parser gives the position of each tag. The text between two block tags is a segment.
Scripts, styles, `pre`, `code` and what is marked ``translate="no"`` are not translated; attributes
that people read are: `alt`, `title`, `placeholder`, `aria-label`, descriptions in `meta`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from html.parser import HTMLParser
from itertools import accumulate
from typing import Any, NamedTuple

from attncli.documents._inline import Piece, PieceKind, escaped, inline_segments
from attncli.documents.document import (
    REFERENCE,
    DocumentOptions,
    DocumentPart,
    DocumentSegment,
    Kept,
    Texts,
    language_segment,
    string_segment,
    unescaped,
)
from models.core.errors import InputError
from models.core.limits import HTML_TAGS, HTML_UNENDED

INLINE = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|br|cite|code|del|dfn|em|font|i|img|ins|kbd|label|mark|q|rp|rt"
    "|ruby|s|samp|small|span|strike|strong|sub|sup|time|tt|u|var|wbr"
    "|[gx][0-9]+|br\x1f.*"  # neutral tags of `attncli.documents._inline`, which clients send
)
EMPTY = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
OMITTED = re.compile(  # elements that have no end tag, and the tags that end them
    "li li|d[td] d[td]|t[dhr] (?:tr|tbody|tfoot)|t[dh] t[dh]|option opt(?:ion|group)"
    "|p (?:address|article|aside|blockquote|center|details|dialog|dir|div|[dou]l|fieldset|figure"
    "|figcaption|footer|form|h[1-6]|header|hgroup|main|menu|nav|p|pre|search|section|table)"
)
SKIPPED = {
    "pre": "preformatted blocks",
    "script": "scripts",
    "style": "styles",
    "textarea": "text fields",
    "svg": "drawings",
    "math": "formulas",
    "template": "templates",
    "noscript": "noscript blocks",
}
CDATA = "<![CDATA["
UNENDED = (
    (re.compile(r"<[a-zA-Z/!?]"), ">"),
    (re.compile("<!--"), "-->"),
    (re.compile(re.escape(CDATA)), "]]>"),
)
UNTRANSLATED = "elements marked as not to be translated"
FOREIGN = "elements in another language"
ANY = DocumentOptions()
ATTRIBUTES = re.compile(
    r"\s(?P<name>alt|title|placeholder|aria-label|content|value)\s*=\s*(?P<quote>[\"'])"
    r"(?P<value>.*?)(?P=quote)",
    re.DOTALL | re.IGNORECASE,
)
LANGUAGE = re.compile(r"\s(?:xml:)?lang\s*=\s*[\"']?(?P<value>[\w-]+)", re.IGNORECASE)
DESCRIPTION = re.compile(r"(?:og:|twitter:)?(?:description|title)|keywords|og:image:alt")
BUTTON = re.compile("submit|button|reset")


class PageEvent(NamedTuple):
    """A part of the page as the parser reports it."""

    kind: str  # text, entity, open, close, empty, comment, other
    start: int
    end: int
    name: str = ""  # of an element
    attributes: Sequence[tuple[str, str | None]] = ()

    @property
    def language(self) -> str:
        """The language that the element names; empty: none."""
        return self.values.get("lang") or self.values.get("xml:lang", "")

    @property
    def values(self) -> dict[str, str]:
        """The attributes, in lower case."""
        return {name: (value or "").lower() for name, value in self.attributes}


def read(
    content: str, options: DocumentOptions = ANY, start: int = 0, end: int | None = None
) -> list[DocumentPart]:
    """Return the segments of a page or of a part of it, and the parts that stay unchanged."""
    return _Reader(content, start, len(content) if end is None else end, options).parts


class _Reader(HTMLParser):
    """Collector of the segments of a part of the content, event by event.

    An event begins where the parser reports it, and ends where the next one begins.
    """

    def __init__(self, content: str, start: int, end: int, options: DocumentOptions) -> None:
        super().__init__(convert_charrefs=False)
        self.content, self.options = content, options
        self.language = ""  # that the page names
        self.inner: list[DocumentSegment] = []  # attributes of the inline elements of `run`
        self.parts: list[DocumentPart] = []
        self.run: list[Piece] = []
        self.last: PageEvent | None = None  # the event that has begun
        # the elements that are open, and what each is left as; empty: it is translated
        self.inside = [(PageEvent("other", start, start), "")]
        self.names: Counter[str] = Counter()  # of these
        text = content[start:end]
        sizes = (len(line) + 1 for line in text.split("\n"))
        self.lines = [*accumulate(sizes, initial=start)]  # where each begins
        _check_ends(text)
        self.feed(text)
        self.close()
        self._end(end)
        self._flush()

    def _add(
        self, kind: str, name: str = "", attributes: Sequence[tuple[str, str | None]] = ()
    ) -> None:
        line, column = self.getpos()
        at = self.lines[line - 1] + column
        self._end(at)
        self.last = PageEvent(kind, at, at, name, attributes)

    def _end(self, at: int) -> None:
        """Read the event that ends at a position."""
        event = self.last and self.last._replace(end=at)
        if event is None:
            return
        if event.name == "html":
            self.language = event.language or self.language
        if self._is_end(event):
            return
        around = self.inside[-1][1]
        kind = self._kind(event, around) if event.kind == "open" else around
        if event.kind == "open":
            self.inside.append((event, kind))
            self.names[event.name] += 1
        if kind and not around:
            self.parts.append(Kept(event.start, kind))
        elif around and not kind:
            self._flush()
            self._name_language(event, self.parts)
        elif not kind:
            self._take(event)

    def _is_end(self, event: PageEvent) -> bool:
        """Close the elements that a tag ends; return True if it ends one whose kind changes.

        Elements without an end tag end before some other tags (HTML 13.1.2.4).
        """
        if event.kind == "open":
            while OMITTED.fullmatch(f"{self.inside[-1][0].name} {event.name}"):
                self._close(event.start)
        while event.kind == "close" and self.names[event.name]:
            if self.inside[-1][0].name == event.name:
                return self._close(event.end)
            self._close(event.start)
        return False

    def _close(self, end: int) -> bool:
        """Close the innermost element at a position; return True if its kind changes.

        An inline element that was left becomes a placeholder in its text.
        """
        (tag, kind), (_, around) = self.inside.pop(), self.inside[-1]
        self.names[tag.name] -= 1
        if bool(kind) == bool(around):
            return False
        is_whole = bool(kind) and self.parts[-1] == Kept(tag.start, kind)
        if is_whole and INLINE.fullmatch(tag.name):
            self.run.append(Piece("placeholder", tag.start, end, self.content[tag.start : end]))
        else:
            self._flush()
        return True

    def _kind(self, event: PageEvent, around: str) -> str:
        """Return the kind of what is left inside an element; "" if it is translated."""
        values = event.values
        translate = values.get("translate")
        if around in SKIPPED.values() or event.name in SKIPPED:
            return around or SKIPPED[event.name]
        if translate == "no" or "notranslate" in values.get("class", "").split():
            return UNTRANSLATED
        if not event.language or around == UNTRANSLATED or translate in ("yes", ""):
            return "" if translate in ("yes", "") else around
        inline = bool(INLINE.fullmatch(event.name))
        return FOREIGN if self.options.leaves(event.language, self.language, inline=inline) else ""

    def _take(self, event: PageEvent) -> None:
        is_inline = bool(INLINE.fullmatch(event.name))
        if is_inline or event.kind in ("text", "entity", "comment"):
            self.run.append(_piece(self.content, event))
        else:
            self._flush()
        parts = self.inner if is_inline else self.parts
        parts.extend(attribute_segments(self.content, event))
        self._name_language(event, parts)

    def _name_language(self, event: PageEvent, parts: list[Any]) -> None:
        """Add the segments of the names of an element's language."""
        if self.options.to and event.language:
            codes = LANGUAGE.finditer(self.content, event.start, event.end)
            parts += [language_segment(code.span("value"), self.options.to) for code in codes]

    def _flush(self) -> None:
        starts, last = [one.start for one in self.inner], 0
        for segment in inline_segments(self.run, encode=escaped):
            self.parts += self.inner[last : (first := bisect_left(starts, segment.start))]
            inside = self.inner[first : (last := bisect_left(starts, segment.end))]
            self.parts.append(_with_inner(self.content, segment, inside) if inside else segment)
        self.parts += self.inner[last:]
        self.run, self.inner = [], []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("empty" if EMPTY.fullmatch(tag) else "open", tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("empty", tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self._add("close", tag)

    def handle_data(self, data: str) -> None:
        self._add("text")

    def handle_entityref(self, name: str) -> None:
        self._add("entity")

    handle_charref = handle_entityref

    def handle_comment(self, data: str) -> None:
        self._add("comment")

    def handle_decl(self, decl: str) -> None:
        self._add("other")

    def unknown_decl(self, data: str) -> None:
        self._add("other")

    handle_pi = unknown_decl

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Read `<![...`: CDATA as a section, else as a comment up to `>` (WHATWG HTML 13.2.5.42).

        Python before 3.14 fails with an AssertionError for sections with other names.
        """
        if self.rawdata.startswith(CDATA, i):
            return super().parse_marked_section(i, report)
        return self.parse_bogus_comment(i, report)


def attribute_segments(content: str, event: PageEvent) -> Iterator[DocumentSegment]:
    """Yield the texts in the attributes of a tag that people read."""
    values = event.values
    named = DESCRIPTION.fullmatch(values.get("name", "") or values.get("property", ""))
    read = {"content": bool(named), "value": bool(BUTTON.fullmatch(values.get("type", "")))}
    for one in ATTRIBUTES.finditer(content, event.start, event.end) if values else ():
        if read.get(one["name"].lower(), True):
            quote = partial(_quoted, quote=one["quote"])
            segment = string_segment(*one.span("value"), unescaped(one["value"]), quote)
            if segment:
                yield segment


def _quoted(text: str, quote: str) -> str:
    return escaped(text).replace(quote, f"&#{ord(quote)};")


def _with_inner(
    content: str, segment: DocumentSegment, inner: list[DocumentSegment]
) -> DocumentSegment:
    """Return the segment of a text with the attributes of the tags in it."""

    def write(texts: Texts) -> str:
        rest = iter(texts[len(segment.texts) :])
        whole = segment.write(texts[: len(segment.texts)])
        for one in inner:
            begin = next(n for n in range(one.start, 0, -1) if content[n] in " \t\r\n")
            end = one.end + 1
            new = one.write(tuple(next(rest) for _ in one.texts))
            old = content[begin:end]
            whole = whole.replace(old, content[begin : one.start] + new + content[one.end : end], 1)
        return whole

    texts = (*segment.texts, *(text for one in inner for text in one.texts))
    return segment._replace(texts=texts, write=write)


def _piece(content: str, event: PageEvent) -> Piece:
    start, end = event.start, event.end
    raw = content[start:end]
    if event.kind in ("text", "entity"):
        return Piece("text", start, end, raw, unescaped(raw) if event.kind == "entity" else raw)
    if event.name.partition("\x1f")[0] == "br":
        return Piece("break", start, end, raw, "", event.name)
    kinds: dict[str, PieceKind] = {"open": "open", "close": "close"}
    return Piece(kinds.get(event.kind, "void"), start, end, raw, "", event.name)


def _check_ends(text: str) -> None:
    """Raise InputError for very many parts without an end: the parser's time is quadratic in them.

    A part has an end if its closing sign follows anywhere. The parser reads no absurd references.
    """
    if found := REFERENCE.search(text):
        raise InputError(f"{found[0][:20]}…, which is no character", "at most 20 digits")
    if (tags := text.count("<")) > HTML_TAGS:
        raise InputError(f"a page of {tags:,} tags", f"at most {HTML_TAGS:,}")
    for start, end in UNENDED:
        unended = len(start.findall(text, text.rfind(end) + 1))
        if unended > HTML_UNENDED:
            raise InputError(
                f"{unended:,} tags, comments or sections of HTML without {end}",
                f"at most {HTML_UNENDED:,}",
            )
