"""Documents that are damaged, odd or endless: read in linear time, or refused in one line."""

from __future__ import annotations

import gc
import io
import json
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise

import pytest

from attncli.data.alignments import parse_pharaoh
from attncli.documents import translation as jobs
from attncli.documents._completion import completed
from attncli.documents._inline import read_lines
from attncli.documents.document import (
    DocumentOptions,
    balanced,
    read_document,
    string_segment,
)
from attncli.documents.formats import FORMATS
from attncli.documents.tags import parse
from attncli.documents.translation import KEYED
from attncli.faithful.checks import check
from attncli.faithful.divide import halves, sentences, split
from attncli.faithful.result import Line, TranslatedLine
from models.core.errors import ModelError
from models.core.types import EMPTY, Translation
from models.search.repeats import repetition
from models.text.languages import Glossary, Term
from models.text.normalise import is_untranslatable, without_added_stop

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


SIZES = (1000, 10_000, 100_000)
MIN_SECONDS = 0.01  # seconds: less is noise
TIMES = 15  # as long for ten times the length
TRIES = 5
PATTERNS = (  # head, what is repeated, tail
    *("a", "A ", "1", "-", "_", "*", "`", "~", "#", ">", "<", "&", "|", ":", "!", "=", "+", "."),
    *(",", "$", "/", "\\", "'", '"', "(", "[", "]", "{", "}", " ", "\t", "\n", "\u0301", "♪", "犬"),
    *("<b>", "</b>", "<b></b>", "<i>a</i> ", "<br/>", "<!--", "[a](b)", "{x}", "%s", "\\n", '\\"'),
    *("A. B ", "a | ", "- ", "&amp;", "[^", "\\N", "/* ", "a: ", "{§1}", "<img alt='a b'>"),
    *("- a\n", "a=b\n", '"a";\n', "{\\i1}", "{\\k5}ab ", "<00:01.000>ab "),
)
UNIT = "<xliff><trans-unit>"
ENDS = {  # whole texts that the signs alone do not make
    "container": ("", ":", "}\n"),
    "callout": ("> [!NOTE]", " ", "x\n"),
    "address": ("a@", ".", "@"),
    "keys": (":", "a", "\n"),
    "commas": ("[Script Info]\nFormat: ", ",", "\n" + "Dialogue: a\n" * 9),
    "marks": ("a {", "§", " <b>c</b>"),
    "codes": (UNIT + "<source>a</source><target>", "<it></it >", "</target></trans-unit></xliff>"),
    "sources": (UNIT, "<source>a</source>", "<target>a</target></trans-unit></xliff>"),
    "timed": ("<tt><p>ab ", "<metadata/>", "</p></tt>"),
    "escapes": ('"', '\\"', '"\n"a" = "b";'),
}
FRAMES = {  # around a text
    "srt": "1\n00:00:01,000 --> 00:00:02,000\nAb {} cd\n",
    "vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nAb {} cd\n",
    "ass": "[Script Info]\nFormat: Text\nDialogue: Ab {} cd\n",
    "html": "<p>Ab {} cd</p>",
    "csv": "a\n{} cd\n",
    "po": 'msgid "Ab {} cd"\nmsgstr ""\n',
    "yaml": "a: [{}]\n",
    "properties": "a=Ab {} cd\n",
    "strings": '"a" = "Ab {} cd";\n',
    "xml": "<resources><string name='a'>Ab {} cd</string></resources>",
    **dict.fromkeys(("json", "jsonl", "arb"), '{{"a": "Ab {} cd"}}\n'),
}


def document(format: str, text: str) -> None:
    """Read a document and write it with other texts."""
    columns, fields = {"csv": ("a",)}.get(format, ()), {"jsonl": ("a",)}.get(format, ())
    options = DocumentOptions(columns, fields, to="de")
    for content in {text, FRAMES.get(format, "Ab {} cd\n").replace("{}", text)}:
        try:
            found = jobs.opened(content.encode(), format, options)
        except ModelError:  # one line
            continue
        outcomes = []
        for line in jobs.lines_of(found):
            other = (EMPTY._replace(text=line.text.replace("Ab", "Xy")),)
            outcomes.append(TranslatedLine(line, Translation(line.text, other)))
        jobs.written(found, outcomes)


def string(text: str) -> None:
    if found := string_segment(0, len(text), text, str):
        found.write(found.texts)


def into(format: str, text: str) -> None:
    content = FRAMES[format].replace("{}", text)
    with suppress(ModelError):
        completed(content, content, format)


def links(text: str) -> None:
    with suppress(ModelError):
        for _ in parse_pharaoh(text, "line 1"):
            pass


READERS: dict[str, Callable[[str], object]] = {
    **{name: partial(document, name) for name in [*FORMATS, "text"]},
    "split": lambda text: split(text, lambda part: len(part) <= 200),
    "sentences": sentences,
    "halves": halves,
    "lines": read_lines,
    "string": string,
    "balanced": lambda text: balanced(text, 3),
    "address": is_untranslatable,
    "tags": lambda text: parse(text, str),
    "checks": lambda text: check(text, text),
    "loop": lambda text: repetition(f"{text} {text}", text),
    "links": links,
    **{f"into {name}": partial(into, name) for name in KEYED.split(", ") if name != "yaml"},
    "stop": lambda text: without_added_stop(text, text),
    "glossary": Glossary((Term("big dog", "x"), Term("a", "y"))).found,
}


def texts(size: int) -> dict[str, str]:
    """Return a text of this length for each pattern, and for each with an end that fails."""
    whole = {sign: sign * (size // len(sign)) for sign in PATTERNS}
    ended = {f"{sign}x": f"{text}x" for sign, text in whole.items() if len(sign) == 1}
    made = {name: f"{head}{one * size}{end}" for name, (head, one, end) in ENDS.items()}
    return whole | ended | made


LARGE = {  # format: documents of about 100,000 characters
    **{name: [frame.replace("{}", "ab " * 30_000)] for name, frame in FRAMES.items()},
    "xml": [
        f"<resources>{'<a>' * 200}{'<b/>' * 25_000}{'</a>' * 200}</resources>",
        f"<resources>{'<string>' * 200}{'<b>ab</b>' * 1000}{'</string>' * 200}</resources>",
        f"<xliff>{'<trans-unit><source>ab</source></trans-unit>' * 2000}</xliff>",
    ],
    "json": ['{"' + "k" * 50_000 + '": {' + '"a": 1, ' * 3000 + '"b": "ab"}}'],
}


@pytest.mark.parametrize("name", LARGE)
def test_a_document_takes_at_most_half_a_kilobyte_for_a_character(name: str) -> None:
    for content in LARGE[name]:
        tracemalloc.start()
        document(name, content)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 500 * len(content)


def seconds(read: Callable[[str], object], text: str) -> float:
    gc.disable()  # its time depends on all objects of the process
    started = time.process_time()
    read(text)
    gc.enable()
    return time.process_time() - started


@pytest.mark.parametrize("sizes", [SIZES[:2], pytest.param(SIZES, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READERS)
def test_ten_times_the_length_takes_at_most_fifteen_times_as_long(
    name: str, sizes: tuple[int, ...]
) -> None:
    read = READERS[name]
    for shorter, longer in pairwise(sizes):
        long = texts(longer)
        for pattern, text in texts(shorter).items():
            tries = 0
            # both are read again if it fails, because another process may have been in the way
            while seconds(read, long[pattern]) > TIMES * max(MIN_SECONDS, seconds(read, text)):
                tries += 1
                assert tries < TRIES, (pattern, longer)
