"""E-books (EPUB): the HTML files of the archive, each read as a page, and the table of contents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attncli.documents import html_page
from attncli.documents.document import (
    Document,
    DocumentOptions,
    Texts,
    language_segment,
    reassemble,
)
from attncli.documents.packed import Archive, not_of, read_archive, write_archive
from models.base.errors import DamagedError

PAGES = (".xhtml", ".html", ".htm")
CONTENTS = ".ncx"  # the table of contents of EPUB 2
PACKAGE = ".opf"
LANGUAGE = re.compile(r"<dc:language\b[^>]*>\s*(?P<code>[^<\s]*)")
LABEL = re.compile(r"(?<=<text>)[^<]+(?=</text>)")
KIND = "an e-book"


def read(content: bytes, options: DocumentOptions) -> Document:
    """Return the text of all pages. Raises DamagedError for an encrypted or damaged book."""
    archive = read_archive(content, KIND)
    pages = {
        name: _page(archive, name, options)
        for name in archive.files
        if name.lower().endswith((*PAGES, CONTENTS, PACKAGE))
    }
    if not pages:
        raise not_of(KIND)
    at, segments, kept = 0, [], []
    for page in pages.values():
        segments += [one._replace(start=one.start + at, end=one.end + at) for one in page.segments]
        kept += [one._replace(start=one.start + at) for one in page.kept]
        at += len(page.content)

    def save(translations: Sequence[Texts | None]) -> bytes:
        rest = iter(translations)
        changed = {
            name: reassemble(page, [next(rest) for _ in page.segments]).encode()
            for name, page in pages.items()
        }
        return write_archive(archive, changed)

    whole = "".join(page.content for page in pages.values())
    return Document(whole, tuple(segments), tuple(kept), save=save)


def _page(archive: Archive, name: str, options: DocumentOptions) -> Document:
    try:
        content = archive.files[name].decode("utf-8")
    except UnicodeDecodeError:
        raise DamagedError(
            f"{KIND} with a page that is not text ({name})", "no encryption"
        ) from None
    if name.lower().endswith(PACKAGE):
        codes = LANGUAGE.finditer(content) if options.to else ()
        spans = (code.span("code") for code in codes)
        return Document(content, tuple(language_segment(*span, options.to) for span in spans))
    if not name.lower().endswith(CONTENTS):
        return html_page.read(content, options)
    labels = (html_page.read_span(content, *found.span()) for found in LABEL.finditer(content))
    return Document(content, tuple(segment for segments, _ in labels for segment in segments))
