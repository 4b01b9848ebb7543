"""The table of document formats: name, place of `read`, ends of file names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from attncli.documents.document import Document, DocumentOptions

COMPRESSED = (".gz", ".xz", ".zst")
TEXT = "text"  # lines; not a document format


class Row(NamedTuple):
    """A document format."""

    read: str  # "module:function"
    suffixes: tuple[str, ...]


FORMATS = {
    "srt": Row("attncli.documents.subtitles:read_srt", (".srt",)),
    "vtt": Row("attncli.documents.subtitles:read_vtt", (".vtt",)),
    "markdown": Row("attncli.documents.markdown:read", (".md", ".markdown")),
    "html": Row("attncli.documents.html_page:read", (".html", ".htm", ".xhtml")),
    "csv": Row("attncli.documents.csv_table:read", (".csv", ".tsv")),
    "json": Row("attncli.documents.json_values:read", (".json",)),
    "jsonl": Row("attncli.documents.json_values:read_lines", (".jsonl", ".ndjson")),
    "po": Row("attncli.documents.po:read", (".po", ".pot")),
}
PACKED = {  # archives of several files; `read` takes bytes
    "docx": Row("attncli.documents.packed.docx:read", (".docx",)),
    "odt": Row("attncli.documents.packed.odt:read", (".odt", ".odp", ".ods")),
    "epub": Row("attncli.documents.packed.epub:read", (".epub",)),
}
# formats that cannot be read: their lines are not text, or are mostly markup
UNREAD = (
    *(".pdf", ".doc", ".rtf", ".ppt", ".pptx", ".xls", ".xlsx", ".xliff", ".xlf", ".tmx"),
    *(".xml", ".rst", ".tex", ".yaml", ".yml"),
)


def uncompressed(path: Path) -> Path:
    """Return a path without the suffix of its compression."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def format_of(path: Path | None) -> str:
    """Return the format of a file by its name; "text" for other names."""
    if path is None:
        return TEXT
    name = uncompressed(path)
    suffix = name.suffix.lower()
    return next((key for key, row in (FORMATS | PACKED).items() if suffix in row.suffixes), TEXT)


def is_document(path: Path) -> bool:
    """Return True if the name of a file is that of a document, also of one that cannot be read."""
    return format_of(path) != TEXT or is_unread(path)


def is_unread(path: Path) -> bool:
    """Return True if the name of a file is that of a document that cannot be read."""
    return uncompressed(path).suffix.lower() in UNREAD


def named_delimiter(path: Path | None) -> str:
    """Return the delimiter of a table that the name of a file tells; "" if it tells none."""
    is_tsv = path is not None and ".tsv" in [suffix.lower() for suffix in path.suffixes[-2:]]
    return "\t" if is_tsv else ""


def suffixes() -> list[str]:
    """Return the ends of file names of all formats, and of plain text."""
    return [end for row in (FORMATS | PACKED).values() for end in row.suffixes] + [".txt"]


def read_document(content: str | bytes, name: str, options: DocumentOptions) -> Document:
    """Return the segments of a content; of bytes, in a format of the table PACKED.

    Raises ModelError for options that do not fit, and an archive that is damaged or too large.
    """
    read: Callable[[Any, DocumentOptions], Document] = resolve_name((FORMATS | PACKED)[name].read)
    return read(content, options)
