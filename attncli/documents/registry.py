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
    "ass": Row("attncli.documents.ass:read", (".ass", ".ssa")),
    "markdown": Row("attncli.documents.markdown:read", (".md", ".markdown", ".mdx")),
    "html": Row("attncli.documents.html_page:read", (".html", ".htm", ".xhtml")),
    "csv": Row("attncli.documents.csv_table:read", (".csv", ".tsv")),
    "json": Row("attncli.documents.json_values:read", (".json",)),
    "jsonl": Row("attncli.documents.json_values:read_lines", (".jsonl", ".ndjson")),
    "arb": Row("attncli.documents.json_values:read_arb", (".arb",)),
    "po": Row("attncli.documents.po:read", (".po", ".pot")),
    "yaml": Row("attncli.documents.strings.yaml_values:read", (".yaml", ".yml")),
    "properties": Row("attncli.documents.strings.properties:read", (".properties",)),
    "strings": Row("attncli.documents.strings.apple:read", (".strings",)),
    "xml": Row(
        "attncli.documents.strings.xml_texts:read",
        (".xml", ".xlf", ".xliff", ".ttml", ".dfxp"),
    ),
}
PACKED = {  # archives of several files; `read` takes bytes
    "docx": Row("attncli.documents.packed.docx:read", (".docx",)),
    "pptx": Row("attncli.documents.packed.slides:read", (".pptx",)),
    "xlsx": Row("attncli.documents.packed.sheets:read", (".xlsx",)),
    "odt": Row("attncli.documents.packed.odt:read", (".odt", ".odp", ".ods")),
    "epub": Row("attncli.documents.packed.epub:read", (".epub",)),
}
PROGRAMS = """
tmx rst tex ini toml cfg conf resx stringsdict plist svg ipynb py js mjs jsx ts tsx json5 css scss
c h cc cpp hpp java kt rs go rb php sh bat ps1 sql swift
"""
# formats that cannot be read: their lines are not text, or are mostly markup; and what helps
UNREAD = {
    ".pdf": "`pdftotext FILE.pdf` writes its text",
    **dict.fromkeys((".doc", ".rtf"), "save it as .docx"),
    ".ppt": "save it as .pptx",
    ".xls": "save it as .xlsx",
    **dict.fromkeys((".eml", ".msg"), "save its text as .html or .txt"),
    **{f".{suffix}": "" for suffix in PROGRAMS.split()},
}
AS_LINES = "-s input.format=text translates its lines"


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


def hint(path: Path) -> str:
    """Return what helps with a document that cannot be read."""
    return UNREAD[uncompressed(path).suffix.lower()] or AS_LINES


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
