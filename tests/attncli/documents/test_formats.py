"""The segments of each format: what is translated, what is not, and how it is written."""

from __future__ import annotations

import re
from typing import Any

import pytest

from attncli.data.lines import is_mail
from attncli.documents.document import (
    DocumentOptions,
    read_document,
    reassemble,
)
from attncli.documents.translation import decoded, opened, written
from models.core.errors import InputError, ModelError
from tests.attncli.documents.capitals import Capitals, in_capitals, outcomes

FIELDS = {"jsonl": {"fields": ("a",)}}


def kinds(name: str, content: str) -> list[str]:
    return [kept.kind for kept in read_document(content, name, DocumentOptions()).kept]


SRT = """1
00:00:01,000 --> 00:00:02,500
{\\an8}<i>a long line here
and the other</i>

2
00:00:03,000 --> 00:00:04,000
- who is there?
- a dog
"""
CUE = "1\n00:01,000 --> 00:02,000\n{}\n"


@pytest.mark.parametrize(
    ("name", "done"),
    [
        ("srt", CUE.format("[DOOR CLOSES]")),
        ("srt", CUE.format("- (LAUGHS)")),
        ("srt", CUE.format("- WHO IS THERE?")),
        ("srt", CUE.format("♪ HEY, JUDE ♪")),
        ("srt", CUE.format("[SIGHS] YES. [COUGHS]")),
        ("srt", CUE.format("[SIGHS\nLOUDLY]")),
        ("srt", CUE.format("A").replace("02,000", "02:000")),  # a time with a mistake
        ("markdown", "# A *B* #"),
        ("markdown", "A [B](http://c.d 'e') F"),
        ("markdown", "![A CAT](cat.png)"),
        ("markdown", "RUN `make all` NOW"),
        ("markdown", "COST $x_1$ OR \\$5"),
        ("markdown", "> A\n> B"),
        ("markdown", "| A | B |\n|---|:-:|\n| C D | `e` |"),
        ("markdown", "- [ ] A\n- [x] B\n\n      code"),
        ("markdown", "A<br>B <kbd>ctrl</kbd>"),
        ("markdown", "<div>\n<b>A</b> B\n</div>"),
        ("markdown", "A\\*B"),
        ("markdown", "---\ntitle: a\n---\nB"),
        ("markdown", "```\na\n```\n\n    b\n"),
        ("markdown", "$$\na = b\n$$\n\nA[^1]\n"),
        ("markdown", "<https://a.b> AND HTTPS://C.D"),
        ("html", "<body><p>A <b>B</b></p>\n</body>"),
        ("html", "<li>A<li>B"),
        ("html", "<pre>a</pre><script>b</script><style>c</style>D"),
        ("html", "A <code>b</code> C"),
        ("html", "A <span translate='no'>b</span> C"),
        ("html", "<div class='x notranslate'>b <div>c</div></div>"),
        ("html", "<p>A<br>B</p><!-- c -->"),
        ("html", "<img src='a b' alt='A B'>"),
        ("html", '<p>X <img alt="A" title="B"> C <img alt="A"></p>'),
        ("html", '<input placeholder="A B" value="c" type=text><input type="submit" value="D">'),
        ("html", '<meta name="description" content="A B"><meta name="author" content="a b">'),
        ("html", '<p>A <span translate="no"><img alt="b"></span> C</p>'),
        ("html", '<button aria-label="A">B</button>'),
        ("markdown", "A [[b c|D E]] AND [[b c]]"),
        ("markdown", "![[b c.png|300]] A"),
        ("markdown", "A [B](c d.md) AND ![E *F*](g h/i j.png 'k')".replace("'", '"')),
        ("markdown", "[![A](b c.png)](d e.md)"),
        ("markdown", "A <b translate='no'>c</b> D"),
        ("html", "<p translate=no>a <b translate=yes>B C</b> d<p>E"),
        ("html", "<div class=notranslate><p>a<p translate=yes>B</div><p>C"),
        ("html", "<ul><li translate=no>a<ul><li>b</ul><li>C</ul>"),
        ("html", "<table><tr><td translate=no>a<td>B<tr><td>C</table>"),
        ("json", '{\n  "save": "SAVE",\n  "menu": {"open": "OPEN {name}", "n": [1, "A"]}\n}\n'),
        ("json", '\ufeff{"a": "B"}\n'),
        ("jsonl", '{"a": "É"}'),
        ("strings", '/* "no" = "x"; */\n"a b" = "HI \\"YOU\\"";\nnskey = "ONE";\n'),
    ],
)
def test_capitals_are_where_the_texts_are(name: str, done: str) -> None:
    assert in_capitals(name, done.lower(), **FIELDS.get(name, {})) == done


VTT = (
    "WEBVTT\n\nNOTE a note\n\nSTYLE\n::cue {{ color: red }}\n\nname\n01:00.000 --> 01:02.000\n"
    "<v Fred>{} &amp; <c.a>{}</c> <00:01.000>{}"
)
ARROWS = "WEBVTT\n01:00.000 --> 01:02.000\n{}{}01:02.000 --> 01:04.000 align:start\n{}\n"
GAPS = ("\n", "\n\n", "\n\nNAME\n")


TIMES = "<tt xml:lang='{}'><p>{} <span xml:lang='fr'>b <span>c</span></span> {}</p></tt>"
LANGUAGES = [  # source, page; what is written to German
    ("en", TIMES.format("en", "a", "d"), TIMES.format("de", "A", "D")),
    ("auto", TIMES.format("", "a", "d"), TIMES.format("de", "A", "D")),
    ("en", "<p>a <i lang=fr>b</i> c", "<p>A <i lang=fr>b</i> C"),
    ("en", "<p lang=fr>b<p lang=en-GB>c", "<p lang=fr>b<p lang=de>C"),
    ("", "<html lang=en><p lang=fr>b<p>c", "<html lang=de><p lang=fr>b<p>C"),
    ("", "<html lang=en>a <b lang=en>b</b>", "<html lang=de>A <b lang=de>B</b>"),
    ("auto", "<p lang=fr>b<p>c <i lang=la>d</i>", "<p lang=de>B<p>C <i lang=la>d</i>"),
    ("en", "<div lang=fr>b <p lang=en>c</p></div>d", "<div lang=fr>b <p lang=de>C</p></div>D"),
]
NAMED = [  # a document that names its language
    ("html", '<html class="x" lang="{}"><p lang="fr">1'),
    ("po", 'msgid ""\nmsgstr ""\n"Language: {}\\n"\n'),
    ("po", 'msgid ""\nmsgstr "Language: {}\\n"\n'),
    ("arb", '{{"@@locale": "{}"}}'),
    ("yaml", "{}:\n  a: 1\n"),
    ("xml", "<tt xml:lang='{}'/>"),
]
TABLE = 'id,text\n1,"{}, ""{}"""\n2,{}\n'
OBJECTS = '{{"id": "a", "meta": {{"title": ["{}", "{}\\nd"]}}, "n": 1}}\n\n{{"meta": null}}'
NO_JSON = ("{", "[1,]", '{"a" "b"}', "1 2", '"a', "[" * 500)
LOW, HIGH = OBJECTS.format("b", "c"), OBJECTS.format("B", "C").replace("\\nd", "\\nD")


@pytest.mark.parametrize(
    ("name", "content", "done", "options"),
    [
        ("markdown", "[foo]\n\n[foo]: x", "[FOO][foo]\n\n[foo]: x", {}),
        ("markdown", "a &amp;lt; b &amp; c", "A \\&LT; B & C", {}),
        ("html", "<p>a &amp; b&nbsp;c &lt; d</p>", "<p>A &amp; B\u00a0C &lt; D</p>", {}),
        ("html", "<p>a\n   b</p>", "<p>A B</p>", {}),
        ("html", '<a title="a &quot;b&quot;">d</a>', '<a title="A &#34;B&#34;">D</a>', {}),
        ("html", "<p>a</p><![CDATA[<b>b]]><p>c</p>", "<p>A</p><![CDATA[<b>b]]><p>C</p>", {}),
        *(
            ("html", f"<p>a</p>{bad}b", f"<p>A</p>{bad}B", {})
            for bad in ("<![CDQTA[x>", "<![ if y>")
        ),
        ("strings", '"a" = "Hi\\n%@";', '"a" = "HI\\n%@";', {}),
        ("vtt", VTT.format("he", "she", "go"), VTT.format("HE", "SHE", "GO"), {}),
        *(("vtt", ARROWS.format("a", gap, "b"), ARROWS.format("A", gap, "B"), {}) for gap in GAPS),
        *(
            (
                "xml" if page.startswith("<tt") else "html",
                page,
                done,
                {"source": source, "to": "de"},
            )
            for source, page, done in LANGUAGES
        ),
        *((name, text.format("en"), text.format("de"), {"to": "de"}) for name, text in NAMED),
        *((name, text.format("en"), text.format("en"), {}) for name, text in NAMED),
        ("csv", TABLE.format("a", "b", "c"), TABLE.format("A", "B", "C"), {"columns": ("text",)}),
        ("csv", "a,b\n1,c\n", "a,B\n1,C\n", {"columns": ("2",)}),
        ("csv", "a;b\tc;d", "a;B\tC;d", {"columns": ("2",)}),
        ("jsonl", '{"a": "\\u00e9"}', '{"a": "\\u00c9"}', {"fields": ("a",)}),
        *(("jsonl", LOW, HIGH, {"fields": (field,)}) for field in ("meta.title", "meta")),
        ("jsonl", LOW, HIGH, {"keep": ("id",)}),
        ("json", '{"a": "b", "c": "d"}', '{"a": "B", "c": "d"}', {"fields": ("a",)}),
    ],
)
def test_a_text_is_written_as_its_place_its_language_and_the_options_require(
    name: str, content: str, done: str, options: dict[str, Any]
) -> None:
    assert in_capitals(name, content, **options) == done


def test_subtitles_keep_their_times_their_tags_and_their_lines() -> None:
    done = SRT.replace("a long line here\nand the other", "A LONG LINE HERE\nAND THE OTHER")
    done = done.replace("who is there?", "WHO IS THERE?").replace("a dog", "A DOG")
    assert in_capitals("srt", SRT) == done
    document = read_document(SRT, "srt", DocumentOptions())
    text = "many more words than there were before in this long subtitle of two lines"
    lines = document.segments[0].write((text,)).split("\n")
    assert " ".join(lines) == text and [len(line) for line in lines] == [38, 34]
    assert document.segments[1].write((text,)) == text


def test_a_paragraph_of_markdown_keeps_its_width_and_does_not_become_a_list() -> None:
    document = read_document("> one two three\n> four five", "markdown", DocumentOptions())
    written = document.segments[0].write(("uno dos tres - cuatro cinco - 1. seis",))
    assert written == "uno dos tres -\n> cuatro cinco - 1.\n> seis"
    assert read_document("a", "markdown", DocumentOptions()).segments[0].write(("# b",)) == "\\# b"


TIMED = '<{0}p begin="1s"><{0}span begin="1s">a</{0}span> <{0}span begin="2s">b c</{0}span></{0}p>'


@pytest.mark.parametrize("prefix", ["", "tt:"])
@pytest.mark.parametrize(
    ("translated", "spans"),
    [
        ("<g1>B</g1> <g0>A</g0>", ["B", "A"]),  # in the order of time
        ("<g0>A B</g0> <g1></g1>", ["A", "B"]),  # none is empty
        ("<g0></g0> <g1>A</g1>", ["", "A"]),  # and none has words of the source
    ],
)
def test_spans_with_a_time_keep_their_order(prefix: str, translated: str, spans: list[str]) -> None:
    space = ":tt" if prefix else ""
    text = f'<{prefix}tt xmlns{space}="x">{TIMED.format(prefix)}</{prefix}tt>'
    document = read_document(text, "xml", DocumentOptions())
    written = reassemble(document, [(translated,)])
    found = re.findall(r'begin="(\d)s">([^<]*)</\S*span', written)
    assert found == [("1", spans[0]), ("2", spans[1])]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("csv", "id,text\n", {}, "--column and one of id, text"),
        ("csv", "id,text\n", {"columns": ("txt",)}, "unknown column 'txt'.*did you mean text"),
        ("csv", "id,text\n", {"columns": ("3",)}, "unknown"),
        ("jsonl", LOW, {}, "--field NAME"),
        ("jsonl", LOW, {"fields": ("tittle",)}, "unknown field 'tittle'"),
        ("xml", "<a>b</a>", {}, "with the element <a>"),
        ("xml", "<a>", {}, "that is not XML"),
        ("yaml", "a: [b", {}, "not YAML .line 1"),
        *(("json", line, {}, "not JSON") for line in NO_JSON),
        *(
            ("html", f"<p>{part * 100_000}", {}, "of HTML without")
            for part in ("<b", "<!--", "<!-- >", "<a href='", "<![CDATA[>", "<?")
        ),
        *(
            (name, "The old dog sleeps.\n", {}, f"that is not {name}.*input.format=text")
            for name in ("srt", "vtt", "po", "strings", "ass")
        ),
    ],
)
def test_a_document_of_another_kind_or_without_an_end_is_refused(
    name: str, content: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        in_capitals(name, content, **options)


def test_a_document_in_utf_16_stays_in_it() -> None:
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        for name, content in (("srt", SRT), ("json", '{"a": "the dog"}'), ("csv", "a\nthe dog\n")):
            file = mark + content.encode(encoding)
            document = opened(file, name, DocumentOptions(columns=("a",) if name == "csv" else ()))
            done = written(document, outcomes(document, Capitals()))
            assert done[:2] == mark and b"D\0O" in done and len(document.segments)
        with pytest.raises(InputError, match="in UTF-16.*iconv -f UTF-16"):  # as lines are
            opened(mark + "the dog\n".encode(encoding), "text", DocumentOptions())
    with pytest.raises(InputError, match="carriage returns alone"):
        opened(b"a dog\ra cat\r", "text", DocumentOptions())
    with pytest.raises(InputError, match="not UTF-16"):
        decoded(b"\xff\xfea")


def test_a_document_that_is_not_utf_8_is_read_whole_or_refused() -> None:
    western = b"caf\xe9 \x96 c\xf4t\xe9 de Gr\xe2ce"
    assert decoded(western) == ("café – côté de Grâce", "windows-1252")
    assert decoded("café".encode()) == ("café", "utf-8")
    for content in ("кафе".encode("cp1251"), b"caf\xff", b"a\x00\xe9", "日本".encode("shift-jis")):
        with pytest.raises(InputError, match="iconv -f ENCODING -t UTF-8"):
            decoded(content)


@pytest.mark.parametrize("line", NO_JSON)
def test_what_is_not_json_is_reported(line: str) -> None:
    document = read_document(f'{{"a": "b"}}\n{line}\n', "jsonl", DocumentOptions(fields=("a",)))
    assert document.kept == ((11, "not JSON", True),)
    assert len(document.segments) == 1


PO = """msgid ""
msgstr "Plural-Forms: nplurals=2;\\n"

#, fuzzy
msgid "kept"
msgstr "behalten"

msgid "a file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid "a\\n"
"b"
msgstr ""
"""


def test_empty_entries_are_filled_and_the_others_kept() -> None:
    done = in_capitals("po", PO)
    start, end = done.split("msgstr[0]")
    assert start == PO.split("msgstr[0]")[0]
    assert end == ' "A FILE"\nmsgstr[1] "%D FILES"\n\nmsgid "a\\n"\n"b"\nmsgstr ""\n"A\\n"\n"B"\n'
    assert kinds("po", PO) == ["texts that have a translation"]
    one_form = PO.replace("nplurals=2", "nplurals=1").replace('msgstr[1] ""\n', "")
    assert 'msgstr[0] "%D FILES"' in in_capitals("po", one_form)
    assert 'msgstr "A\\t9C"' in in_capitals("po", 'msgid "a\\t\\9\\x63"\nmsgstr ""\n')


@pytest.mark.parametrize(
    ("forms", "written"),
    [
        (("a file", "%D FILES"), ['"a file"', '"%D FILES"']),
        (("A FILE", "%d files"), ['"A FILE"', '"%d files"']),
        (("a file", "%d files"), ['""', '""']),
        ((None, "%D FILES"), ['""', '""']),
    ],
)
def test_the_plural_forms_of_an_entry_are_all_written_or_none(
    forms: tuple[str | None, str], written: list[str]
) -> None:
    document = read_document(PO, "po", DocumentOptions())
    texts = [(form,) if form else None for form in forms]
    done = reassemble(document, [*texts, None])
    assert re.findall(r"msgstr\[\d\] (.*)", done) == written


CONTAINERS = """---
title: the page
tags: [a b]
---
import Tabs from '@theme/Tabs';

# a heading {#its-id}

::: tip
a text
:::

::: warning a title
<<< @/snippets/a b.js
:::

:::note[a title]{.x}
:::

!!! note "a title"
    a text

    ??? tip

        more text

=== "a tab"

    - a list

a term
: a definition {.x}
: another

*[HTML]: hyper text

\\newpage

a ==marked text== and ++ctrl+x++
{: .lead }

<Tabs id={x}>
**a** text
</Tabs>

```
::: a
!!! b
```
"""


def test_structures_of_markdown_beyond_commonmark_stay() -> None:
    kept = re.compile(
        r"^(---|tags|import|```|<<<|\\newpage|</?Tabs|\{:).*|^(::: a|!!! b)$"
        r"|^ *(:::|!!!|\?\?\?)[ \t]*(tip|warning|note)?|\*\[HTML\]|\]?\{[#.].*?\}"
        r"|\+\+.*?\+\+|^title",
        re.MULTILINE,
    )
    text, at = "", 0
    for found in kept.finditer(CONTAINERS):
        text += CONTAINERS[at : found.start()].upper() + found[0]
        at = found.end()
    done = in_capitals("markdown", CONTAINERS, fields=("title",))
    assert done == text + CONTAINERS[at:].upper()
    assert "title: the page" in in_capitals("markdown", CONTAINERS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("From: a@b.c\nSubject: The old\n dog\nDate: today\n\nHello,\n", True),
        ("Received: x\nFrom: a\nMIME-Version: 1.0\n", True),
        ("From: the station\nTo: the hotel\n\nSubject: x\n", False),
        ("Subject: our meeting\nFrom: Monday on we meet.\nBring cake.\n", False),
        ("", False),
    ],
)
def test_the_head_of_a_mail_is_recognised(text: str, found: bool) -> None:
    assert is_mail(text.split("\n")) is found
