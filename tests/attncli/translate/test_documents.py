"""``attn translate`` of documents, with a model that answers in capitals."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from attncli.documents import translation as documents
from attncli.documents.document import DocumentOptions
from attncli.faithful.checks import Check
from attncli.faithful.result import TranslatedLine
from attncli.shell.app import run
from attncli.translate.runner import TranslateRunner
from models.core.types import EMPTY, Translation
from tests.upper_model import opened

SRT = b"\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>a dog</i>\r\n"
WORD = "<w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>{}</w:document>"
POT = (
    'msgid ""\nmsgstr ""\n"Language: {}\\n"\n"Content-Type: text/plain; charset={}\\n"\n'
    '"Plural-Forms: nplurals={}; plural={};\\n"\n\n'
    'msgid "caf\u00e9"\nmsgid_plural "a dog"\nmsgstr[0] "{}"\nmsgstr[1] "{}"\n'
)
XML = "<?xml version='1.0' encoding='{}'?><resources><string name='a'>{}</string></resources>"
PLURALS = '{}\n\nmsgid "a dog"\nmsgid_plural "dogs"\nmsgstr[0] "{}"\nmsgstr[1] "{}"\n'
PLAIN = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"'
FORMS = f'{PLAIN}\n"Plural-Forms: nplurals=2; plural=(n > 1);\\n"'
UNITS = (
    "<xliff version='2.0' trgLang='{}'><file id='a'><unit id='1'><segment><source>a</source>"
    "<target>x</target></segment></unit></file></xliff>"
)
LEFT = b"a\n\n```\nb\n```\n\nI II III\n\n    c\n"
CUT = b"\x1f\x8b\x08\x00"  # the beginning of a gzip file
LATIN = POT.format("fr", "ISO-8859-2", "2", "(n != 1)", "", "ő").encode("iso-8859-2")
TEMPLATE = POT.format("", "CHARSET", "INTEGER", "EXPRESSION", "", "").encode()
FRENCH = POT.format("fr", "UTF-8", "2", "(n > 1)", "CAFÉ", "A DOG").encode()
KEPT = POT.format("fr", "UTF-8", "2", "(n != 1)", "CAFÉ", "ő").encode()
GERMAN = POT.format("de", "UTF-8", "2", "n", "", "x").encode()


def word(text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", "<a/>")
        body = f"<w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body>"
        archive.writestr("word/document.xml", WORD.format(body))
    return buffer.getvalue()


DOCUMENTS = [  # name, content, further words; what is written, or a part of it; what is said
    ("a.srt", SRT, "", SRT.replace(b"a dog", b"A DOG"), ""),
    ("a.srt", SRT, "-s input.format=text", [b"<i>A DOG</i>\r\n"], ""),
    ("a.tsv", b"a, b, c\tx\na, b\ty\n", "--column 2", b"a, b, c\tX\na, b\tY\n", ""),
    ("a.tsv.gz", gzip.compress(b"a, b\ty\n", mtime=0), "--column 2", b"a, b\tY\n", ""),
    ("a.md", LEFT, "", [b"A\n\n```\nb\n```\n"], "left as they are: code blocks, lines 3, 9"),
    ("a.md", LEFT, "", [b"I II III"], "texts whose translation is the same, line 7"),
    ("a.jsonl", b'{"a": "b"}\n{"a\n', "--field a", b'{"a": "B"}\n{"a\n', "line 2: not JSON"),
    ("a.html", b"<p>b\xe9</p><p>a</p>", "", b"<p>B\xc9</p><p>A</p>", "Windows-1252"),
    ("a.txt", b"caf\xe9\r\na", "", "CAFÉ\r\nA\n".encode(), "Windows-1252"),
    ("a.docx", b"{", "", None, "attn: a.docx"),
    ("a.json", b"{", "", None, "attn: a.json"),
    ("a.srt.gz", CUT, "", None, "attn: a.srt.gz"),
    # the content tells what the name does not
    ("a.docm", word("a dog"), "", [b">A DOG<"], ""),
    ("a", word("a dog"), "", [b">A DOG<"], ""),
    ("a.docx", word("I</w:t><w:tab/><w:t>II"), "", [b"w:tab"], "is the same, “I II”"),
    ("a.txt", word("a dog"), "", None, "is not text"),
    ("a.xy", b"%PDF-1.7\n", "", None, "is not text"),
    ("a.catalog", b'{"a": "a dog"}', "", b'{"a": "A DOG"}', ""),
    ("a.xy", b'{"a": "a dog"}\n{\n', "", b'{"A": "A DOG"}\n{\n', ""),
    ("a.xy", b"<?xml version='1.0'?><b>a</b>", "", None, "XML with the element <b>"),
    ("a.xcstrings", b'{"sourceLanguage": "en"}', "", None, "cannot read"),
    ("a.json", b'{\n "sourceLanguage" : "en", "strings": {}}', "", None, "catalogue of Xcode"),
    ("a.ftl", b"a = b\n", "", None, "cannot read"),
    # an output is named for its format
    ("a.srt", SRT, "-o b.vtt", None, "the format of the input, srt"),
    ("a.srt", SRT, "-o b.txt", None, "the format of the input, srt"),
    ("a.html", SRT, "-o b.pdf", None, "the format of the input, html"),
    ("a.txt", SRT, "-o b.docx", None, "the format of the input, text"),
    ("a.docm", word("a dog"), "-o b.docx", None, "docx"),
    ("a.docm", word("a dog"), "-o b.docm", [b">A DOG<"], ""),
    ("a.srt", SRT, "-o b.out", [b"A DOG"], ""),
    ("a.txt", SRT, "-o b.md", [b"A DOG"], ""),
    # its language, its encoding and its forms
    ("a.pot", TEMPLATE, "--to fr", FRENCH, ""),
    ("a.po", LATIN, "--to fr", KEPT, ""),
    (
        "a.po",
        PLURALS.format(PLAIN, "", "").encode(),
        "--to fr",
        PLURALS.format(FORMS, "A DOG", "DOGS").encode(),
        "",
    ),
    (
        "a.xml",
        XML.format("us-ascii", "caf&#233;").encode(),
        "",
        XML.format("us-ascii", "CAF&#201;").encode(),
        "",
    ),
    (
        "a.xml",
        XML.format("latin1", "é").encode("latin1"),
        "",
        XML.format("latin1", "É").encode("latin1"),
        "",
    ),
    ("a.po", GERMAN, "--to fr", None, "in the language de"),
    ("a.xlf", UNITS.format("de").encode(), "--to fr", None, "in the language de"),
    ("a.xlf", UNITS.format("fr-CA").encode(), "--to fr", UNITS.format("fr-CA").encode(), ""),
]


@pytest.mark.parametrize(("name", "content", "words", "done", "said"), DOCUMENTS)
def test_a_document_is_written_as_its_format_requires_or_refused_in_one_line(
    name: str,
    content: bytes,
    words: str,
    done: bytes | list[bytes] | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(TranslateRunner, "load", opened)
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    given = words.split() if "-o" in words else ["-o", f"{name}.out", *words.split()]
    failed = run(["translate", "-m", "upper", "-i", name, *given])
    out, shown = Path(given[1]), capsys.readouterr().err
    assert said in shown and shown.count(said) == 1 or not said
    assert bool(failed) == (done is None or "not JSON" in said) and out.exists() == bool(done)
    if done is None:
        assert shown.count("\n") == 1
        return
    written = out.read_bytes()
    if content.startswith(b"PK"):
        written = zipfile.ZipFile(out).read("word/document.xml")
    assert written == done or (isinstance(done, list) and done[0] in written)
    if name.startswith("a.po") and shutil.which("msgfmt"):
        check = ["msgfmt", "-c", "-o", os.devnull, str(out)]
        assert subprocess.run(check, capture_output=True, timeout=60).returncode == 0


def test_a_translation_that_fails_a_check_is_left_out_or_flagged() -> None:
    failed = (Check("digits", "other digits"),)

    def made(text: str) -> Translation:
        return Translation(text, (EMPTY._replace(text=text.upper()),))

    def done(name: str, content: str) -> tuple[str, list[str]]:
        document = documents.opened(content.encode(), name, DocumentOptions())
        outcomes = [
            TranslatedLine(line, made(line.text), checks=failed)
            for line in documents.lines_of(document)
        ]
        found = documents.written(document, outcomes).decode()
        return found, [*documents.left(document, outcomes)]

    entry = '#: a.c:1\nmsgctxt "x"\nmsgid "a dog"\nmsgstr ""\n'
    flagged = entry.replace("msgctxt", "#, fuzzy\nmsgctxt").replace('str ""', 'str "A DOG"')
    assert done("po", f"{entry}\n{entry}") == (f"{flagged}\n{flagged}", [])
    said = ["left as they are: texts whose translation fails a check, line 1"]
    assert done("json", '{"a": "a dog"}') == ('{"a": "a dog"}', said)
    assert done("html", "<p>a dog</p>") == ("<p>A DOG</p>", [])
    failed = ()  # type: ignore[assignment]
    lost = entry.replace("a dog", "%d%% a")
    assert done("po", lost)[0].startswith('#: a.c:1\n#, fuzzy\nmsgctxt "x"')
    assert done("json", '{"a": "%d%% a"}')[0] == '{"a": "%d%% a"}'
    assert done("json", '{"a": "50 % a"}')[0] == '{"a": "50 % A"}'
