"""Word documents, OpenDocument texts and e-books, read back with the libraries of others."""

from __future__ import annotations

import io
import random
import re
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from attncli.documents import _packed as packed
from attncli.documents import translation as documents
from attncli.documents.document import Document, DocumentOptions, read_document
from attncli.documents.formats import PACKED
from models.core.errors import ModelError
from tests.attncli.documents.capitals import Capitals, outcomes

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def saved(document: Any) -> bytes:
    """Return the file of a document of another library."""
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def zipped(files: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def docx_file() -> bytes:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("The old dog", 1)
    paragraph = document.add_paragraph("I see the ")
    paragraph.add_run("red car").bold = True
    paragraph.add_run(" and ")
    paragraph.add_run("the").italic = True
    paragraph.add_run(" house.").add_break()
    document.add_table(1, 2).cell(0, 0).text = "Good morning."
    document.sections[0].header.paragraphs[0].text = "My friend"
    return saved(document)


def odt_file() -> bytes:
    pytest.importorskip("odf")
    from odf.opendocument import OpenDocumentText
    from odf.text import H, LineBreak, P, Span, Tab

    document = OpenDocumentText()
    document.text.addElement(H(outlinelevel=1, text="The old dog"))
    paragraph = P(text="I see the ")
    paragraph.addElement(Span(text="red car"))
    paragraph.addText(" and the house.")
    paragraph.addElement(LineBreak())
    paragraph.addText("My friend")
    paragraph.addElement(Tab())
    paragraph.addText("the car")
    document.text.addElement(paragraph)
    return saved(document)


def epub_file() -> bytes:
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "a.xhtml": "<html><body><h1>The old dog</h1><p>A <b>red</b> car</p></body></html>",
            "a.opf": "<package><dc:language>en</dc:language></package>",
            "toc.ncx": "<ncx><navLabel><text>The old dog</text></navLabel></ncx>",
            "picture.jpg": bytes(range(256)),
        }
    )


def pptx_file() -> bytes:
    pptx = pytest.importorskip("pptx")
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "The old dog\vsleeps"
    frame = slide.placeholders[1].text_frame
    frame.text = "I see the "
    run = frame.paragraphs[0].add_run()
    run.text, run.font.bold = "car", True
    frame.add_paragraph().text = "My friend"
    slide.notes_slide.notes_text_frame.text = "Good morning."
    return saved(made)


def xlsx_file() -> bytes:
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["The old dog", 12, "=A1"], ["Red wine\nWhite wine"], ["The old dog"]):
        book.active.append(row)
    return saved(book)


MADE: dict[str, Callable[[], bytes]] = {
    "docx": docx_file,
    "odt": odt_file,
    "epub": epub_file,
    "pptx": pptx_file,
    "xlsx": xlsx_file,
}


def read(name: str) -> Document:
    return read_document(MADE[name](), name, DocumentOptions())


def in_capitals(document: Document) -> bytes:
    return documents.written(document, outcomes(document, Capitals()))


def word_document(inner: str, head: str = "") -> Document:
    """Return the document of a paragraph with this content."""
    body = f"<w:body><w:p>{inner}</w:p></w:body>"
    content = f'{head}<w:document xmlns:w="{W}">{body}</w:document>'
    return read_document(zipped({"word/document.xml": content}), "docx", DocumentOptions())


def unpacked(content: bytes) -> dict[str, bytes]:
    return dict(packed.read_archive(content, "").files)


def canonical(content: bytes) -> bytes:
    from lxml import etree

    found: bytes = etree.tostring(etree.fromstring(content), method="c14n")
    return found


@pytest.mark.parametrize("name", PACKED)
def test_no_translation_changes_nothing(name: str) -> None:
    content = MADE[name]()
    document = read_document(content, name, DocumentOptions())
    assert document.save and document.segments
    before, after = unpacked(content), unpacked(document.save([None] * len(document.segments)))
    assert list(before) == list(after)
    for path, content in before.items():
        xml = path.endswith((".xml", ".xhtml", ".ncx"))
        assert (canonical if xml else bytes)(after[path]) == (canonical if xml else bytes)(content)


def test_word_keeps_formatting_tables_and_headers() -> None:
    docx = pytest.importorskip("docx")
    found = docx.Document(io.BytesIO(in_capitals(read("docx"))))
    heading, paragraph = found.paragraphs
    assert heading.text == "THE OLD DOG" and heading.style.name == "Heading 1"
    assert paragraph.text == "I SEE THE RED CAR AND THE HOUSE.\n"
    assert [run.text for run in paragraph.runs if run.bold] == ["RED CAR"]
    assert [run.text for run in paragraph.runs if run.italic] == ["THE"]
    assert found.tables[0].cell(0, 0).text == "GOOD MORNING."
    assert found.sections[0].header.paragraphs[0].text == "MY FRIEND"


def test_word_keeps_links_fields_and_notes_in_their_order() -> None:
    inner = (
        '<w:r><w:t>See </w:t></w:r><w:hyperlink w:anchor="x"><w:r><w:t>the house</w:t></w:r>'
        "</w:hyperlink><w:r><w:t> on page </w:t></w:r>"
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>7</w:t></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t>.</w:t></w:r>'
    )
    document = word_document(inner)
    found = unpacked(in_capitals(document))["word/document.xml"].decode()
    assert (
        'w:anchor="x"><w:r><w:t xml:space="preserve">THE HOUSE</w:t></w:r></w:hyperlink>' in found
    )
    field = inner[
        inner.index('<w:r><w:fldChar w:fldCharType="begin"') : inner.index("<w:r><w:t>.<")
    ]
    assert field in found and found.index("PAGE ") < found.index(field)


CODE = '<w:r><w:instrText xml:space="preserve"> {} </w:instrText></w:r>'
MARK = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
RUN = "<w:r><w:t>{}</w:t></w:r>"


@pytest.mark.parametrize(
    ("code", "is_read"),
    [
        ('HYPERLINK "http://a.b"', True),
        ("HYPERLINK \\l x", True),
        ("REF x", False),
        ("DATE", False),
    ],
)
def test_the_text_of_a_link_in_a_field_is_translated(code: str, is_read: bool) -> None:
    text = RUN.format("the ") + f"<w:r><w:rPr><w:b/></w:rPr>{RUN.format('new book')[5:]}"
    whole = MARK.format("begin") + CODE.format(code) + MARK.format("separate") + text
    simple = f"<w:fldSimple w:instr='{code}'>{text}</w:fldSimple>"
    for field in (whole + MARK.format("end"), simple):
        content = RUN.format("see ") + field + RUN.format(" today")
        changed = unpacked(in_capitals(word_document(content)))["word/document.xml"].decode()
        words = re.findall("<w:t[^>]*>([^<]*)<", changed)
        assert "".join(words) == f"SEE {'THE NEW BOOK' if is_read else 'the new book'} TODAY"
        marks = re.findall(r'CharType="(\w+)"|<(w:instrText|w:fldSimple)', field)
        assert re.findall(r'CharType="(\w+)"|<(w:instrText|w:fldSimple)', changed) == marks


@pytest.mark.parametrize(
    ("inner", "changed"),
    [
        ("<w:tab/><w:t>a dog</w:t>", ["<w:tab/>", ">A DOG<"]),
        ("<w:t>a dog</w:t><w:tab/><w:t>a car</w:t>", [">A DOG<", "<w:tab/>", ">A CAR<"]),
        ("<w:t>a well</w:t><w:noBreakHyphen/><w:t>known car</w:t>", [">A WELL-KNOWN CAR<"]),
        ("<w:t>a</w:t><w:softHyphen/><w:t>b</w:t>", [">AB<"]),
    ],
)
def test_text_beside_a_tab_or_a_hyphen_of_word_is_translated(
    inner: str, changed: list[str]
) -> None:
    document = word_document(f"<w:r>{inner}</w:r>")
    found = unpacked(in_capitals(document))["word/document.xml"].decode()
    places = [found.index(part) for part in changed]
    assert places == sorted(places)


def test_opendocument_keeps_spans_and_line_breaks() -> None:
    content = unpacked(in_capitals(read("odt")))["content.xml"].decode()
    assert ">THE OLD DOG</text:h>" in content and ">RED CAR</text:span>" in content
    assert "<text:line-break/>MY FRIEND<text:tab/>THE CAR" in content


@pytest.mark.parametrize("name", ["docx", "odt", "pptx", "xlsx"])
def test_several_spaces_are_layout_and_stay(name: str) -> None:
    text = "     a dog   a cat"
    files = {file: content.decode("latin1") for file, content in unpacked(MADE[name]()).items()}
    spaced = re.sub(" {3,}", lambda found: f'<text:s text:c="{len(found[0])}"/>', text)
    files = {
        file: content.replace("The old dog", spaced if name == "odt" else text)
        for file, content in files.items()
    }
    content = zipped({file: content.encode("latin1") for file, content in files.items()})
    changed = unpacked(in_capitals(read_document(content, name, DocumentOptions())))
    found = "".join(one.decode("latin1") for file, one in changed.items() if file.endswith("xml"))
    found = re.sub(r'<text:s text:c="(\d)"/>', lambda found: " " * int(found[1]), found)
    assert text.upper() in re.sub("<[^<>]*>", "", found)


def test_spreadsheets_keep_their_values() -> None:
    pytest.importorskip("odf")
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    document, row = OpenDocumentSpreadsheet(), TableRow()
    for kind, text in ({"valuetype": "string"}, "red car"), ({"valuetype": "float"}, "12.5"):
        cell = TableCell(**kind)
        cell.addElement(P(text=text))
        row.addElement(cell)
    table = Table(name="prices")
    table.addElement(TableRow(numberrowsrepeated="27"))
    row.insertBefore(TableCell(numbercolumnsrepeated="26"), row.firstChild)
    table.addElement(row)
    document.spreadsheet.addElement(table)
    content = saved(document)
    found = read_document(content, "odt", DocumentOptions())
    assert found.places == ("prices: AA28", "prices: AB28")
    changed = unpacked(in_capitals(found))
    before = unpacked(content)["content.xml"]
    assert canonical(changed["content.xml"]) == canonical(before.replace(b"red car", b"RED CAR"))


def test_slides_keep_formatting_and_notes() -> None:
    pptx = pytest.importorskip("pptx")
    [slide] = pptx.Presentation(io.BytesIO(in_capitals(read("pptx")))).slides
    assert slide.shapes.title.text_frame.text == "THE OLD DOG\vSLEEPS"
    first, second = slide.placeholders[1].text_frame.paragraphs
    assert [(run.text, run.font.bold) for run in first.runs] == [
        ("I SEE THE ", None),
        ("CAR", True),
    ]
    assert second.text == "MY FRIEND"
    assert slide.notes_slide.notes_text_frame.text == "GOOD MORNING."


def test_a_presentation_without_slides_has_no_text() -> None:
    content = saved(pytest.importorskip("pptx").Presentation())
    assert not read_document(content, "pptx", DocumentOptions()).segments


def test_a_workbook_keeps_numbers_formulas_and_lines_of_cells() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    sheet = openpyxl.load_workbook(io.BytesIO(in_capitals(read("xlsx")))).active
    assert [[cell.value for cell in row] for row in sheet.rows] == [
        ["THE OLD DOG", 12, "=A1"],
        ["RED WINE\nWHITE WINE", None, None],
        ["THE OLD DOG", None, None],
    ]


def test_messages_about_a_workbook_name_sheet_and_cell() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    cells = {("first", "B2"): "x y", ("the second", "C7"): "z"}
    for sheet, cell in cells:
        book.create_sheet(sheet)[cell] = cells[sheet, cell]
    book["first"]["B2"].comment = openpyxl.comments.Comment("a b", "me")
    book.save(buffer := io.BytesIO())
    document = read_document(buffer.getvalue(), "xlsx", DocumentOptions())
    lines = document.content.split("\n")
    found = {(line, place) for line, place in zip(lines, document.places, strict=False)}
    named = {(text, f"{sheet}: {cell}") for (sheet, cell), text in cells.items()}
    assert found == named | {("a b", "first: B2")}
    assert document.save
    saved = unpacked(document.save([("q",), *[None] * (len(document.segments) - 1)]))
    before = unpacked(buffer.getvalue())
    assert len([path for path in before if before[path] != saved[path]]) == 1


def test_an_e_book_begins_with_its_type() -> None:
    document = read_document(MADE["epub"](), "epub", DocumentOptions(to="de"))
    found = unpacked(in_capitals(document))
    assert b"<dc:language>de</dc:language>" in found["a.opf"]
    assert next(iter(found)) == "mimetype"
    assert b"<h1>THE OLD DOG</h1><p>A <b>RED</b> CAR</p>" in found["a.xhtml"]
    assert b"<text>THE OLD DOG</text>" in found["toc.ncx"]


@pytest.mark.parametrize("name", PACKED)
def test_damaged_files_are_refused(name: str) -> None:
    content, rng = MADE[name](), random.Random(1)
    for _ in range(60):
        damaged = bytearray(content)
        for _ in range(rng.randrange(1, 9)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            for size in (rng.randrange(len(damaged)), len(damaged)):
                in_capitals(read_document(bytes(damaged[:size]), name, DocumentOptions()))
        except ModelError:
            pass


@pytest.mark.parametrize("name", PACKED)
def test_a_file_of_another_format_is_refused(name: str) -> None:
    for other in {*PACKED} - {name}:
        with pytest.raises(ModelError, match="not an? "):
            read_document(MADE[other](), name, DocumentOptions())


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "UNPACKED_BYTES", 1000)
    with pytest.raises(ModelError, match="unpacked"):
        read("docx")


def test_a_file_is_unpacked_once() -> None:
    size, content = 20_000_000, io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", "a" * size)
    tracemalloc.start()
    packed.read_archive(content.getvalue(), "a file")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * size


def test_entities_of_xml_are_not_read() -> None:
    entity = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    assert "root:" not in word_document("<w:r><w:t>a &x; b</w:t></w:r>", entity).content


SPAN = b'<text:span xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
SPAN += b' fo:language="en" fo:country="GB"'


@pytest.mark.parametrize(
    ("name", "make", "old", "new", "marks"),
    [
        ("docx", docx_file, b"", b"", [b'<w:lang w:val="de-DE"']),
        ("pptx", pptx_file, b"<a:rPr b=", b'<a:rPr lang="en-GB" b=', [b' lang="de-DE"']),
        ("odt", odt_file, b"<text:span", SPAN, [b'"de"', b'"DE"']),
    ],
)
def test_an_office_file_names_the_target_language(
    name: str, make: Callable[[], bytes], old: bytes, new: bytes, marks: list[bytes]
) -> None:
    archive = packed.read_archive(make(), "")
    changed = {file: text.replace(old, new) for file, text in archive.files.items() if old in text}
    content = packed.write_archive(archive, changed if old else {})
    document = read_document(content, name, DocumentOptions(to="de"))
    assert document.save
    done = unpacked(document.save([one.texts for one in document.segments]))
    whole = b"".join(text for file, text in done.items() if "Effects" not in file)
    assert all(mark in whole for mark in marks)
    assert b'w:lang w:val="en' not in whole and b'GB"' not in whole
