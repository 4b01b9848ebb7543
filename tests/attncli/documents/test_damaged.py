"""Documents that are damaged or odd are read, or refused in one line."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile

import pytest

from attncli.documents.document import DocumentOptions, read_document
from attncli.faithful.result import Line, TranslatedLine
from attncli.translate import documents as jobs
from models.core.errors import ModelError
from models.core.types import EMPTY, Translation

TIME = "1\n00:00:01,000 --> 00:00:02,000\n"
LONG = "1" * 5000
ENCODINGS = ("undefined", "punycode", "unicode_escape")
ODD = {  # format: contents
    "srt": [f"{TIME}{a}\nwhispering softly{b}\n" for a in "([♪-" for b in (")", "]", "♪", "")],
    "yaml": [
        f"a: Closed on, {odd}\n" for odd in ("2024-02-30", "0x_", "1:99:99", LONG, '"\\Uffffffff"')
    ],
    "xml": [
        f'<!DOCTYPE r [ {odd} ]><resources><string name="a">Hello</string></resources>'
        for odd in ('<!ENTITY a "]> </x>">', "<!-- ]> -->", "<?x ]> ?>", "<!ENTITY a ']>'>")
    ]
    + [
        "<\u3001/>",
        "<?xml version='1.0' encoding='idna'?><resources><item>Hello</item></resources>",
    ],
    "po": [
        f'msgid ""\nmsgstr "charset={odd}"\n\nmsgid "a \\ud800"\nmsgstr ""\n' for odd in ENCODINGS
    ]
    + [f'msgid "a"\nmsgid_plural "b"\nmsgstr[{LONG}] ""\n', 'msgid "a\fb"\nmsgstr ""\n'],
    "html": [f"<p title='{odd}'>Hello {odd}</p>" for odd in (f"&#{LONG};", "&#xd800;")],
    "vtt": [f"WEBVTT\n\n00:01.000 --> 00:02.000\nHello &#{LONG}; you\n"],
    "properties": ["a=Hello \\ud83d\\ude00\n", "a=Hello \\ud800\n"],
    "markdown": [f"Hello &#{LONG};\n", "a \\{§1} `b` c\n"],
}


@pytest.mark.parametrize(
    "format, content", [(format, one) for format, each in ODD.items() for one in each]
)
def test_an_odd_document_is_translated_or_refused_in_one_line(format: str, content: str) -> None:
    try:
        document = jobs.opened(content.encode(), format, DocumentOptions(to="de"))
    except ModelError as error:
        assert "\n" not in str(error)
        return
    jobs.written(document, [translated(line) for line in jobs.lines_of(document)])


WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SLIDE = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LINKS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
RUN = "<w:r><w:t>hello</w:t></w:r>"
PACKED = (  # format, name of a file, and what is in it
    *(
        ("docx", "word/document.xml", f"{odd[0]}<w:x {WORD}><w:p>{RUN}{odd[1]}{RUN}</w:p></w:x>")
        for odd in (("", "<!-- x -->"), ("", "<?x y?>"), ('<!DOCTYPE d [<!ENTITY x "y">]>', "&x;"))
    ),
    ("pptx", "ppt/slides/1.xml", f"<x {SLIDE}><a:p><a:r/><a:r><a:t>hello</a:t></a:r></a:p></x>"),
    (
        "xlsx",
        "xl/worksheets/1.xml",
        f'<x {SHEET}><si><t>hello</t></si><c t="s"><v>{LONG}</v></c></x>',
    ),
    ("xlsx", "xl/_rels/workbook.xml.rels", f"<x {LINKS}><Relationship/></x>"),
)


@pytest.mark.parametrize("format, name, text", PACKED)
def test_an_odd_archive_is_translated(format: str, name: str, text: str) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(name, text)
    document = jobs.opened(content.getvalue(), format, DocumentOptions(to="de"))
    done = jobs.written(document, [translated(line) for line in jobs.lines_of(document)])
    assert "hello" not in text or b"heLLo" in zipfile.ZipFile(io.BytesIO(done)).read(name)


def translated(line: Line) -> TranslatedLine:
    if line.fault:
        return TranslatedLine(line, None)
    text = line.text.replace("l", "L")
    assert text.encode()
    return TranslatedLine(line, Translation(line.text, (EMPTY._replace(text=text),)))


@pytest.mark.parametrize("format", ["json", "jsonl", "yaml"])
def test_half_a_character_stays_and_is_named(format: str) -> None:
    content = json.dumps({"a": "well", "b": "hello \ud800", "c": "hello 😀"})
    document = jobs.opened(content.encode(), format, DocumentOptions(fields=("a", "b", "c")))
    lines = jobs.lines_of(document)
    assert [bool(line.fault) for line in lines] == [False, True, False]
    done = jobs.written(document, [translated(line) for line in lines]).decode()
    assert "weLL" in done and "hello \\ud800" in done and "heLLo" in done


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_of_another_compression_is_refused(method: int) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        archive.writestr("word/document.xml", b"<w/>")
    with pytest.raises(ModelError, match="another compression"):
        read_document(content.getvalue(), "docx", DocumentOptions())


def test_an_archive_of_too_many_tags_is_not_unpacked_to_its_end() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xhtml", b"<b>" * (1 << 24))
    tracemalloc.start()
    with pytest.raises(ModelError, match="more than 4,000,000 tags"):
        read_document(content.getvalue(), "epub", DocumentOptions())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20
