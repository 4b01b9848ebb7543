"""Files of messages and subtitles, read back with the libraries of others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attncli.documents.document import (
    DocumentOptions,
    DocumentSegment,
    read_document,
    reassemble,
)
from attncli.documents.formats import check_lines
from attncli.documents.translation import lines_of
from attncli.faithful.protect import protect
from models.core.errors import ModelError
from tests.attncli.documents.capitals import in_capitals

PROPERTIES = """# a comment
greeting = Good day, Zo\\u00eb
a\\ key: in \\
    two lines\\nand more
path=C:\\\\{0} isn''t
empty=
"""
YAML = """en:
  greeting: &x Good day  # a comment
  'quoted': 'it''s'
  double: "two\\nlines"
  colon: "a: b"
  number: 12
  flag: yes
  block: |
    First line
    Second line
  folded: >-
    a text
    in two lines
  list: [a b, {c: d}]
  again: *x
"""
ANDROID = "<resources><string name='a' translatable='false'>no</string><plurals name='p'>"
ANDROID += "<item quantity='one'>{}</item></plurals><string name='c'>{}</string></resources>"
CDATA = "<![CDATA[<i>b</i>]]>"
UNIT = "<trans-unit id='{}'>\n  <source>{}</source>{}\n </trans-unit>"
XLIFF = "<xliff version='1.2'><file original='a'>\n {}\n {}\n {}\n</file></xliff>".format(
    UNIT.format(1, "a <g id='1'>b</g> <ph id='2'>x y</ph>", ""),
    UNIT.format(2, "done", "<target>fertig</target>"),
    UNIT.format(3, "empty", "<target state='new'/>"),
)


def test_properties() -> None:
    javaproperties = pytest.importorskip("javaproperties")
    before = javaproperties.loads(PROPERTIES)
    done = in_capitals("properties", PROPERTIES)
    changed = {key: text.upper() for key, text in before.items()}
    assert javaproperties.loads(done) == changed and done.isascii()
    assert done.startswith("# a comment\ngreeting = GOOD DAY, ZO\\u00cb\n")
    assert "É" in in_capitals("properties", "# ü\na=é")


def test_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    done = in_capitals("yaml", YAML)
    assert "&x GOOD DAY  # a comment" in done and "'IT''S'" in done
    [found] = yaml.safe_load(done).values()
    assert found.pop("number") == 12 and found.pop("flag") is True
    assert found == {
        "greeting": "GOOD DAY",
        "quoted": "IT'S",
        "double": "TWO\nLINES",
        "colon": "A: B",
        "block": "FIRST LINE\nSECOND LINE\n",
        "folded": "A TEXT IN TWO LINES",
        "list": ["A B", {"c": "D"}],
        "again": "GOOD DAY",
    }
    chosen = in_capitals("yaml", YAML, fields=("en.colon", "en.list"))
    assert "A: B" in chosen and "A B" in chosen and "Good day" in chosen
    [segment] = read_document("a: b c", "yaml", DocumentOptions()).segments
    for text in ("x: y", "no", "["):
        assert yaml.safe_load(f"a: {segment.write((text,))}") == {"a": text}


def test_a_text_that_was_divided_for_its_width_keeps_its_indents() -> None:
    text = "  a line of a text that is longer than others\n      and its end in another line"
    lines = json.loads(in_capitals("json", json.dumps({"a": text})))["a"].split("\n")
    assert [len(one) - len(one.lstrip()) for one in lines] == [2, 6]
    assert " ".join(map(str.strip, lines)) == " ".join(text.upper().split())


def test_xliff_gets_the_targets_that_it_lacks() -> None:
    document = read_document(XLIFF, "xml", DocumentOptions(to="de"))
    assert [kept.kind for kept in document.kept] == ["texts that have a translation"]
    done = in_capitals("xml", XLIFF, to="de")
    assert "</source>\n  <target>A <g id='1'>B</g> <ph id='2'>x y</ph></target>" in done
    assert '<target state="translated">EMPTY</target>' in done and "<target>fertig<" in done
    assert "original='a' target-language=\"de\">" in done


def test_styled_subtitles() -> None:
    pysubs2 = pytest.importorskip("pysubs2")
    made = pysubs2.SSAFile()
    for text in ("{\\i1}Hello, you{\\i0}.\\NAnd yo{\\b1}u{\\b0}", "{\\p1}m 0 0 l 1 1{\\p0}"):
        made.append(pysubs2.SSAEvent(1000, 2000, text))
    content = made.to_string("ass")
    done = in_capitals("ass", content)
    assert done.startswith(content[: content.index("Dialogue")])
    assert "yo<g0>u</g0>" in str(read_document(content, "ass", DocumentOptions()).segments)
    found = pysubs2.SSAFile.from_string(done)
    assert [(one.start, one.text) for one in found] == [
        (1000, "{\\i1}HELLO, YOU{\\i0}.\\NAND YO{\\b1}U{\\b0}"),
        (1000, made[1].text),
    ]


ONE = "<xliff version='1.2'><file original='a'><trans-unit id='1'{}><source>{}</source>{}"
CODE = "{} <bpt id='1'>&lt;b></bpt>{}<ept id='1'>&lt;/b></ept> {}"
MARKED = "<mrk mtype='seg' mid='1'>a b.</mrk> <mrk mtype='seg' mid='2'>c</mrk>"
SEGMENTS = f"<seg-source>{MARKED}</seg-source>"
CAPITALS = f"{SEGMENTS}<target>{MARKED.replace('a b.', 'A B.').replace('>c<', '>C<')}</target>"
SECOND = "<xliff version='2.0'><file id='a'><unit id='1'><segment{}><source>{}</source>{}"
FIXED = "<mrk translate='no'>b</mrk>"
ENDS = {ONE: "</trans-unit></file></xliff>", SECOND: "</segment></unit></file></xliff>"}


@pytest.mark.parametrize(
    ("form", "attributes", "source", "before", "after"),
    [
        (ONE, "", "<![CDATA[a & b\nc]]>", "", "<target><![CDATA[A & B\nC]]></target>"),
        (ONE, "", "<![CDATA[a <b>c</b>]]>", "", "<target><![CDATA[A <b>C</b>]]></target>"),
        (ONE, "", CODE.format(*"abc"), "", f"<target>{CODE.format(*'ABC')}</target>"),
        (ONE, "", "a&#10;b", "", "<target>A&#10;B</target>"),
        (ONE, " xml:space='preserve'", "A\n b", "", "<target>A\n B</target>"),
        (ONE, "", "a", "<target state='new'>a</target>", '<target state="translated">A</target>'),
        (ONE, "", "a", "<target state='new'>x</target>", "<target state='new'>x</target>"),
        (ONE, "", "a", "<target>a</target>", "<target>a</target>"),
        (ONE, "", "a b. c", SEGMENTS, CAPITALS),
        (ONE, "", "a b. c", f"{SEGMENTS}<target><mrk/></target>", CAPITALS),
        (ONE, "", "a b. c", f"{SEGMENTS}<target><mrk>x</mrk></target>", ""),
        (SECOND, "", f"a {FIXED}", "", f"<target>A {FIXED}</target>"),
        (SECOND, " state='initial'", "a", "<target>a</target>", "<target>A</target>"),
        (SECOND, " state='initial'", "a", "", "<target>A</target>"),
        (SECOND, " state='reviewed'", "a", "", "<target>A</target>"),
    ],
)  # fmt: skip
def test_a_unit_of_xliff_gets_a_target_as_its_source_is_written(
    form: str, attributes: str, source: str, before: str, after: str
) -> None:
    after, done = after or before, attributes.replace("'initial'", '"translated"')
    content = form.format(attributes, source, before) + ENDS[form]
    assert in_capitals("xml", content) == form.format(done, source, after) + ENDS[form]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("x id='START_LINK_1'", "x id='CLOSE_LINK'"),
        ("bx rid='1' id='2'", "ex rid='1' id='3'"),
        ("sc id='1'", "ec startRef='1'"),
    ],
)
def test_empty_tags_of_a_pair_are_read_as_one(start: str, end: str) -> None:
    content = ONE.format("", f"a <{start}/>dog<{end}/> b", "") + ENDS[ONE]
    assert "a <g0>dog</g0> b" in str(read_document(content, "xml", DocumentOptions()).segments)


@pytest.mark.parametrize(
    ("name", "content", "done"),
    [
        *(
            ("json", f'{{"a": "{text}"}}', f'{{"a": "{text}"}}')
            for text in ("MM/DD/YYYY", "yyyy-MM-dd HH:mm", "h:mm a", "DD.MM.", "yyyyMMdd", "ms")
        ),
        ("yaml", "a: [Oct, Dec]\nb: [Cut, Paste]\n", "a: [Oct, Dec]\nb: [CUT, PASTE]\n"),
        ("json", '{"a": ["M", "Tu", "W", "Th", "F", "Sa", "Su"]}', ""),
        ("json", '{"a": "add", "b": "cut"}', '{"a": "ADD", "b": "CUT"}'),
        ("arb", '{"a": "{n, plural, one {b}}"}', '{"a": "{n, plural, one {B}}"}'),
        ("xml", ANDROID.format(r"Don\'t <b>go</b>", "a"), ANDROID.format(r"DON\'T <b>GO</b>", "A")),
        ("xml", ANDROID.format("a", CDATA), ANDROID.format("A", CDATA.replace("b", "B"))),
        ("properties", "a=b {0,choice,0#c|1<{0} d}\n", "a={0,choice,0#B C|1<B {0} D}\n"),
    ],
)  # fmt: skip
def test_only_words_of_a_value_are_translated(name: str, content: str, done: str) -> None:
    assert in_capitals(name, content) == (done or content)


def test_an_apostrophe_does_not_quote_a_placeholder() -> None:
    for content, done in (
        ('{"a": "b {0}"}', '{"a": "l’{0}"}'),
        ('{"a": "\'{b}\'"}', '{"a": "l\'{0}"}'),
        ('{"a": "{0,choice,0#b}"}', '{"a": "{0,choice,0#l’{0}}"}'),
    ):
        document = read_document(content, "json", DocumentOptions())
        [texts] = [segment.texts for segment in document.segments]
        texts = tuple("l'{0}" if "b" in text else text for text in texts)
        assert reassemble(document, [texts]) == done


MESSAGES = '{"a": {"message": "one", "description": "two", "b": {"c": "three"}}}'


@pytest.mark.parametrize(
    ("options", "done"),
    [
        ({}, MESSAGES.replace("one", "ONE")),
        ({"fields": ("message",)}, MESSAGES.replace("one", "ONE")),
        ({"fields": ("*.message",)}, MESSAGES.replace("one", "ONE")),
        ({"fields": ("b",)}, MESSAGES.replace("three", "THREE")),
        ({"fields": ("a.b",)}, MESSAGES.replace("three", "THREE")),
        ({"keep": ("description",)}, MESSAGES.replace("one", "ONE").replace("three", "THREE")),
    ],
)
def test_a_field_is_found_at_any_depth_and_messages_without_notes(
    options: dict[str, tuple[str, ...]], done: str
) -> None:
    assert in_capitals("json", MESSAGES, **options) == done


def test_an_unknown_field_is_named_as_it_was_given() -> None:
    with pytest.raises(ModelError, match="unknown field 'x'"):
        in_capitals("json", MESSAGES, fields=("x",))


def test_blank_lines_of_a_string_keep_their_blanks() -> None:
    assert in_capitals("json", '["a\\n    "]') == '["A\\n    "]'
    content = 'msgid "a\\n  "\nmsgstr ""\n'
    [segment] = read_document(content, "po", DocumentOptions()).segments
    assert isinstance(segment, DocumentSegment) and segment.texts == ("a", "  ")
    assert segment.write(("B", "")) == '""\n"B\\n"\n"  "'


def test_dollars_are_placeholders_where_other_texts_of_the_document_have_them() -> None:
    for texts, found in ((["by $1 at $2", "at $8"], True), (["at $2", "at $8"], False)):
        document = read_document(json.dumps(texts), "json", DocumentOptions())
        assert [line.dollars for line in lines_of(document)] == [found, found]
    assert [one.raw for one in protect("at $8", dollars=True)[1]] == ["$8"]


@pytest.mark.parametrize("name", ["a.adoc", "a.ics", "a.1", "a.lrc", "a.geojson", "a.org.gz"])
def test_a_file_of_an_unknown_format_is_no_file_of_lines(name: str) -> None:
    with pytest.raises(ModelError, match="is not known; -s input.format=text"):
        check_lines(Path(name))


@pytest.mark.parametrize("name", ["a", "a.txt", "a.txt.gz", "a.en", "a.pt_BR", "A.TXT"])
def test_files_of_lines_have_no_suffix_or_that_of_text_or_a_language(name: str) -> None:
    check_lines(Path(name))
