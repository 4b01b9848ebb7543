"""Document formats: their table, and the names of their files."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from attncli.data.lines import MAIL
from attncli.data.streams import TEXT, uncompressed
from models.core.errors import InputError

ZIP = b"PK\x03\x04"  # the first bytes of an archive
SCRIPT = r"(?m)^(?:Dialogue:|\[Script Info\])"
HEADS = {b"<?xml": "xml", b"<!doctype html": "html", b"<html": "html", b"webvtt": "vtt"}
PROGRAMS = """
tmx rst tex ftl xcstrings ini toml cfg conf resx stringsdict plist svg ipynb py js mjs jsx ts tsx
json5 css scss c h cc cpp hpp java kt rs go rb php sh bat ps1 sql swift
"""
AS_LINES = "-s input.format=text translates its lines"
LINES = re.compile(r"\.(?:txt|text|[a-z]{2}(?:[-_]\w+)?)")  # suffixes of files of lines
# formats that cannot be read: their lines are not text, or are mostly markup; and what helps
UNREAD = {
    ".pdf": "`pdftotext FILE.pdf` writes its text",
    **dict.fromkeys((".doc", ".rtf"), "save it as .docx"),
    ".ppt": "save it as .pptx",
    ".xls": "save it as .xlsx",
    **dict.fromkeys((".eml", ".msg"), MAIL),
    **{f".{suffix}": AS_LINES for suffix in PROGRAMS.split()},
}


class FormatRow(NamedTuple):
    """A document format."""

    # "module:function" of this package, from (content, options) to the parts, or to a Document
    read: str
    suffixes: tuple[str, ...]
    sign: str = ""  # regular expression of what every such file has; empty: not tested


FORMATS = {
    "srt": FormatRow("_subtitles:read_srt", (".srt",), "-->"),
    "vtt": FormatRow("_subtitles:read_vtt", (".vtt",), "^WEBVTT"),
    "ass": FormatRow("_subtitles:read_ass", (".ass", ".ssa"), SCRIPT),
    "markdown": FormatRow("_markdown:read", (".md", ".markdown", ".mdx")),
    "html": FormatRow("_html_page:read", (".html", ".htm", ".xhtml")),
    "csv": FormatRow("_values:read_table", (".csv", ".tsv")),
    "json": FormatRow("_values:read_json", (".json",)),
    "jsonl": FormatRow("_values:read_json_lines", (".jsonl", ".ndjson")),
    "arb": FormatRow("_values:read_arb", (".arb",)),
    "po": FormatRow("_messages:read_po", (".po", ".pot"), r"(?m)^[ \t]*msgid\b"),
    "yaml": FormatRow("_values:read_yaml", (".yaml", ".yml")),
    "properties": FormatRow("_messages:read_properties", (".properties",)),
    "strings": FormatRow("_messages:read_strings", (".strings",), r"=\s*\""),
    "xml": FormatRow("_xml_texts:read", (".xml", ".xlf", ".xliff", ".ttml", ".dfxp")),
}
PACKED = {  # archives of several files; `read` takes bytes. `sign`: of the name of one of them
    "docx": FormatRow("_office:read_word", (".docx", ".docm"), "word/document.xml"),
    "pptx": FormatRow("_office:read_slides", (".pptx", ".pptm"), "ppt/presentation.xml"),
    "xlsx": FormatRow("_office:read_sheets", (".xlsx", ".xlsm"), "xl/workbook.xml"),
    "odt": FormatRow("_packed:read_open_document", (".odt", ".odp", ".ods"), "vnd.oasis"),
    "epub": FormatRow("_packed:read_book", (".epub",), "epub+zip"),
}
TEXT_SUFFIXES = tuple(suffix for row in FORMATS.values() for suffix in row.suffixes)
NAMES = (*FORMATS, *PACKED)


def format_of(path: Path | None) -> str:
    """Return the format of a file by its name; "text" for other names."""
    suffix = uncompressed(path).suffix.lower() if path else ""
    return next((key for key, row in (FORMATS | PACKED).items() if suffix in row.suffixes), TEXT)


def format_inside(path: Path, content: bytes) -> str:
    """Return the format of a content whose name does not tell it; "text" if it is none."""
    head = content[:100].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if path.suffix.lower() == ".txt":
        return TEXT
    if content.startswith(ZIP):
        places = {content.find(row.sign.encode()): name for name, row in PACKED.items()}
        return min((one for one in places.items() if one[0] > 0), default=(0, TEXT))[1]
    if head[:1] in (b"{", b"["):
        with suppress(ValueError, RecursionError):
            json.loads(content)
            return "json"
    return next((name for sign, name in HEADS.items() if head.startswith(sign)), TEXT)


def is_document(path: Path) -> bool:
    """Return True if the name of a file is that of a document, also of one that cannot be read."""
    return format_of(path) != TEXT or bool(hint(path))


def hint(path: Path) -> str:
    """Return what helps with a document that cannot be read; "" for other files."""
    return UNREAD.get(uncompressed(path).suffix.lower(), "")


def reading(name: str) -> str:
    """Return how a file that cannot be read as a document is read, in full; "" for other files."""
    return hint(Path(name)).replace(AS_LINES, f"-i {name} {AS_LINES}")


def check_lines(path: Path) -> None:
    """Raise InputError for a file whose name tells a format that is not read, such as notes.adoc.

    Lines are in a file without a suffix, in .txt, and in one named by a language, as in dev.en.
    """
    suffix = uncompressed(path).suffix
    if suffix and not LINES.fullmatch(suffix.lower()):
        raise InputError(f"cannot read {path}: the format {suffix} is not known", hint=AS_LINES)


def named_delimiter(path: Path | None) -> str:
    """Return the delimiter of a table that the name of a file tells; "" if it tells none."""
    is_tsv = path is not None and ".tsv" in [suffix.lower() for suffix in path.suffixes[-2:]]
    return "\t" if is_tsv else ""


def suffixes() -> list[str]:
    """Return the ends of file names of all formats, and of plain text."""
    return [end for row in (FORMATS | PACKED).values() for end in row.suffixes] + [".txt"]
