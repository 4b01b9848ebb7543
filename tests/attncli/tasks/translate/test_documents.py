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

from attncli.documents.document import DocumentOptions
from attncli.faithful.checks import Check
from attncli.faithful.result import TranslatedLine
from attncli.shell.app import run
from attncli.translate import documents
from attncli.translate import engine as engines
from models.core.types import EMPTY, Translation
from tests.upper_model import opened

SRT = b"\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>a dog</i>\r\n"


@pytest.fixture(autouse=True)
def upper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "open_text_model", opened)


def translate(path: Path, *options: str) -> int:
    return run(["translate", "-m", "upper", "-i", str(path), "-o", f"{path}.out", *options])


def test_a_document_is_recognised_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.srt"
    path.write_bytes(SRT)
    assert translate(path) == 0
    assert (tmp_path / "a.srt.out").read_bytes() == SRT.replace(b"a dog", b"A DOG")
    assert translate(path, "-s", "input.format=text") == 0
    assert b"<i>A DOG</i>\r\n" in (tmp_path / "a.srt.out").read_bytes()


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_the_cells_of_a_tsv_file_end_at_tabs_also_if_it_has_more_commas(
    name: str, tmp_path: Path
) -> None:
    path, content = tmp_path / name, b"a, b, c\tx\na, b\ty\n"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert translate(path, "--column", "2") == 0
    assert (tmp_path / f"{name}.out").read_bytes() == b"a, b, c\tX\na, b\tY\n"


def test_parts_that_are_not_translated_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.md"
    path.write_text("a\n\n```\nb\n```\n\nI II III\n\n    c\n", "utf-8")
    assert translate(path) == 0
    said = capsys.readouterr().err
    assert "left as they are: code blocks, lines 3, 9" in said
    assert "left as they are: texts whose translation is the same, line 7" in said


def test_parts_that_cannot_be_read_come_back_and_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": "b"}\n{"a\n')
    assert translate(path, "--field", "a") == 1
    assert (tmp_path / "a.jsonl.out").read_bytes() == b'{"a": "B"}\n{"a\n'
    assert "line 2: not JSON" in capsys.readouterr().err


def test_windows_1252_is_read_with_one_remark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content, done in (
        ("a.html", b"<p>b\xe9</p><p>a</p>", b"<p>B\xc9</p><p>A</p>"),
        ("a.txt", b"caf\xe9\r\na cat\ncaf\xe9 a", "CAFÉ\r\nA CAT\nCAFÉ A\n".encode()),
    ):
        (tmp_path / name).write_bytes(content)
        assert translate(tmp_path / name) == 0
        assert (tmp_path / f"{name}.out").read_bytes() == done
        assert capsys.readouterr().err.count("Windows-1252") == 1


@pytest.mark.parametrize("name", ["a.docx", "a.json", "a.srt.gz"])
def test_a_message_about_a_damaged_document_names_its_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(b"\x1f\x8b\x08\x00" if name.endswith("gz") else b"{")
    assert translate(path) == 1
    assert capsys.readouterr().err.startswith(f"attn: {path}")


@pytest.mark.parametrize(
    ("name", "output", "said"),
    [
        ("a.srt", "b.vtt", "the format of the input, srt"),
        ("a.srt", "b.txt", "the format of the input, srt"),
        ("a.html", "b.pdf", "the format of the input, html"),
        ("a.txt", "b.docx", "the format of the input, text"),
        ("a.srt", "b.srt.gz", ""),
        ("a.srt", "b.out", ""),
        ("a.txt", "b.md", ""),
    ],
)
def test_an_output_named_for_another_format_is_refused(
    name: str, output: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(SRT)
    words = ["translate", "-m", "upper", "-i", str(tmp_path / name), "-o", str(tmp_path / output)]
    assert run(words) == bool(said)
    assert said in capsys.readouterr().err
    assert (tmp_path / output).exists() != bool(said)


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
    failed = ()  # type: ignore[assignment]
    lost = entry.replace("a dog", "%d%% a")
    assert done("po", lost)[0].startswith('#: a.c:1\n#, fuzzy\nmsgctxt "x"')
    assert done("json", '{"a": "%d%% a"}')[0] == '{"a": "%d%% a"}'
    assert done("json", '{"a": "50 % a"}')[0] == '{"a": "50 % A"}'
    failed = (Check("digits", "other digits"),)
    assert done("json", '{"a": "a dog"}') == ('{"a": "a dog"}', said)
    assert done("html", "<p>a dog</p>") == ("<p>A DOG</p>", [])


WORD = "<w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>{}</w:document>"


def word(text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", "<a/>")
        body = f"<w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body>"
        archive.writestr("word/document.xml", WORD.format(body))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "done"),
    [
        ("a.docm", word("a dog"), b">A DOG<"),
        ("a", word("a dog"), b">A DOG<"),
        ("a.txt", word("a dog"), "is not text"),
        ("a.b", b"%PDF-1.7\n", "is not text"),
        ("a.catalog", b'{"a": "a dog"}', b'{"a": "A DOG"}'),
        ("a.b", b'{"a": "a dog"}\n{\n', b'{"A": "A DOG"}\n{\n'),
        ("a.b", b"<?xml version='1.0'?><b>a</b>", "XML with the element <b>"),
        ("a.xcstrings", b'{"sourceLanguage": "en"}', "cannot read"),
        ("a.json", b'{\n "sourceLanguage" : "en", "strings": {"a": {}}}', "catalogue of Xcode"),
        ("a.ftl", b"a = b\n", "cannot read"),
    ],
)
def test_the_content_tells_what_the_name_does_not(
    name: str,
    content: bytes,
    done: bytes | str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    failed, out = translate(path), tmp_path / f"{name}.out"
    if isinstance(done, str):
        said = capsys.readouterr().err
        assert failed == 1 and done in said and said.count("\n") == 1 and not out.exists()
        return
    written = out.read_bytes()
    if content.startswith(b"PK"):
        with zipfile.ZipFile(out) as archive:
            written = archive.read("word/document.xml")
    assert not failed and done in written


def test_a_document_of_macros_is_not_named_as_one_without(tmp_path: Path) -> None:
    (tmp_path / "a.docm").write_bytes(word("a dog"))
    words = ["translate", "-m", "upper", "-i", str(tmp_path / "a.docm"), "-o"]
    assert run([*words, str(tmp_path / "b.docx")]) == 1
    assert run([*words, str(tmp_path / "b.docm")]) == 0


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


@pytest.mark.parametrize(
    ("name", "content", "encoding", "done"),
    [
        (
            "a.pot",
            POT.format("", "CHARSET", "INTEGER", "EXPRESSION", "", ""),
            "utf-8",
            POT.format("fr", "UTF-8", "2", "(n > 1)", "CAFÉ", "A DOG"),
        ),
        (
            "a.po",
            POT.format("fr", "ISO-8859-2", "2", "(n != 1)", "", "ő"),
            "iso-8859-2",
            POT.format("fr", "UTF-8", "2", "(n != 1)", "CAFÉ", "ő"),
        ),
        (
            "a.po",
            PLURALS.format(PLAIN, "", ""),
            "utf-8",
            PLURALS.format(FORMS, "A DOG", "DOGS"),
        ),
        (
            "a.xml",
            XML.format("us-ascii", "caf&#233;"),
            "ascii",
            XML.format("us-ascii", "CAF&#201;"),
        ),
        ("a.xml", XML.format("latin1", "é"), "latin1", XML.format("latin1", "É")),
        ("a.po", POT.format("de", "UTF-8", "2", "n", "", "x"), "utf-8", "in the language de"),
        ("a.xlf", UNITS.format("de"), "utf-8", "in the language de"),
        ("a.xlf", UNITS.format("fr-CA"), "utf-8", UNITS.format("fr-CA")),
    ],
)
def test_a_document_names_its_language_its_encoding_and_its_forms(
    name: str,
    content: str,
    encoding: str,
    done: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / name).write_bytes(content.encode(encoding))
    failed = translate(tmp_path / name, "--to", "fr")
    said = capsys.readouterr().err
    if done.startswith("in the"):
        assert failed == 1 and done in said and said.count("\n") == 1
    else:
        after = done.encode("utf-8" if name.startswith("a.po") else encoding)
        assert not failed and (tmp_path / f"{name}.out").read_bytes() == after
        if name.startswith("a.po") and shutil.which("msgfmt"):
            check = ["msgfmt", "-c", "-o", os.devnull, f"{tmp_path / name}.out"]
            assert subprocess.run(check, capture_output=True, timeout=60).returncode == 0
