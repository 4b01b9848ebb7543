"""Every format: the identity changes nothing, a translation changes segments only.

Texts that belong apart are segments of their own; none of what is written is empty.
"""

from __future__ import annotations

import html
from collections.abc import Iterator

import pytest

from attncli.documents import _messages as messages
from attncli.documents import translation as documents
from attncli.documents._inline import TAGS, read_lines, with_lines, with_words
from attncli.documents.document import (
    Document,
    DocumentOptions,
    has_letters,
    read_document,
    reassemble,
)
from attncli.documents.formats import FORMATS
from models.core.types import Hypothesis, Translation
from models.core.use_config import SearchConfig
from tests.attncli.documents import generated
from tests.attncli.documents.capitals import Capitals, outcomes

OPTIONS = {"csv": DocumentOptions(columns=("text",)), "jsonl": DocumentOptions(fields=("text",))}


class Same(Capitals):
    """Returns each text."""

    def _translation(self, text: str, search: SearchConfig) -> Translation:
        return Translation(text, (Hypothesis(text, 0, 0, (), ()),))


def read(name: str, content: str) -> Document:
    return read_document(content, name, OPTIONS.get(name, DocumentOptions()))


def made(name: str) -> Iterator[Document]:
    return (read(name, generated.document(name, seed)) for seed in range(60))


@pytest.mark.parametrize("name", FORMATS)
def test_the_identity_gives_back_the_document(name: str) -> None:
    found = 0
    for document in made(name):
        found += len(document.segments)
        done = documents.translated(document, outcomes(document, Same()))
        assert done == document.content
    assert found > 60


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"po"}))
def test_texts_written_into_a_segment_are_read_back_unchanged(name: str) -> None:
    for document in made(name):
        written = [segment.write(segment.texts) for segment in document.segments]
        words = [] if "<xliff" in document.content else _words(document)  # its units are done then
        assert _words(read(name, _joined(document, written))) == words


def test_what_is_written_for_an_empty_entry_is_read_as_its_text() -> None:
    for document in made("po"):
        written = [segment.write(segment.texts) for segment in document.segments]
        done = list(messages.fields_of(_joined(document, written)))
        for before, after in zip(messages.fields_of(document.content), done, strict=True):
            filled = [s for s in document.segments if s.start == before.start]
            texts = filled[0].texts if filled else (before.text,)
            assert after.text.split() == " ".join(texts).split()


@pytest.mark.parametrize("name", FORMATS)
def test_a_translation_changes_segments_only(name: str) -> None:
    for document in made(name):
        done = documents.translated(document, outcomes(document, Capitals()))
        first, *between, last = _between(document) if document.segments else [done, ""]
        assert done.startswith(first) and done.endswith(last)
        at = len(first)
        for part in between:
            at = done.index(part, at) + len(part)


def _words(document: Document) -> list[str]:
    """Return the words of all texts; lines that are divided anew may divide other texts."""
    texts = " ".join(text for segment in document.segments for text in segment.texts)
    return [word for word in html.unescape(TAGS.sub("", texts)).split() if has_letters(word)]


def _between(document: Document) -> list[str]:
    """Return the parts of the content that no segment covers."""
    edges = [0, *(edge for s in document.segments for edge in s[:2]), len(document.content)]
    return [document.content[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _joined(document: Document, written: list[str]) -> str:
    parts = _between(document)
    return parts[0] + "".join(w + p for w, p in zip(written, parts[1:], strict=True))


CUE = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"


def texts(name: str, content: str) -> list[str]:
    return [text for segment in read(name, content).segments for text in segment.texts]


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("html", "<p>Red wine<br>White wine<br>\n2 beers</p>", 3),
        ("html", "<p>Red wine<br>\nand white wine</p>", 1),
        ("html", "<p>Red wine<br><br>and white wine</p>", 2),
        ("html", "<p>Red wine<br>– white wine<br><i>with bread</i></p>", 3),
        ("html", "<p>We drink.<br>then <b>we</b> eat</p>", 2),
        ("html", "<title>Red wine | The shop</title>", 2),
        ("html", "<td><a>Edit</a> <a>Delete</a></td>", 2),
        ("html", "<td><a>edit</a><a>delete</a></td>", 2),
        ("html", "<nav><span>Home</span><span>Contact</span></nav>", 2),
        ("html", "<p>the <a>Edit</a> <a>Delete</a></p>", 1),
        ("html", "<p><b>W</b><i>ater</i></p>", 1),
        ("html", "<p><a>Home</a> · <a>About us</a> / <a>Help</a></p>", 3),
        ("html", "<p><b>Red wine<br>White wine</b></p>", 2),
        ("markdown", "Red wine  \nWhite wine\\\n\\\nBeer", 3),
        ("markdown", "Red wine  \nand white\nwine", 1),
        ("markdown", "[Edit](a) [Delete](b)", 2),
        ("markdown", "[edit](a)[delete](b)", 2),
        ("markdown", "the {{ dog | big }} sleeps | the cat", 2),
        ("markdown", "> [!NOTE] Red wine\n> and white\n> wine", 2),
        ("jsonl", '{"text": "You have {n, plural, one {a dog}\\n other {# dogs}}."}', 4),
        ("srt", CUE.format("Chapter One\nThe Beginning"), 2),
        ("srt", CUE.format("The day before we left the house with\nPeter was cold"), 1),
        ("srt", CUE.format("♪ The day before we left the old house\nPeter was cold ♪"), 2),
        ("srt", CUE.format("<i>in Paris</i>\n<b>the show</b>"), 2),
        ("srt", CUE.format("Red wine.\\NWhite wine\\Nand beer"), 2),
        ("jsonl", '{"text": "Red wine\\tWhite wine | Beer"}', 3),
        ("jsonl", '{"text": "This line is long enough to be divided\\nat its end."}', 1 + 1),
        ("jsonl", '{"text": "This line is long enough to be divided there\\nat its end."}', 1),
    ],
)
def test_a_break_ends_a_text_where_the_next_one_begins(name: str, content: str, found: int) -> None:
    assert len(texts(name, content)) == found


def test_a_callout_keeps_its_lines() -> None:
    for title in ("", " Red wine"):
        content = f"> [!WARNING]{title}\n> It is late.\n"
        document = read_document(content, "markdown", DocumentOptions())
        long = [(*(f"{text} and long" for text in one.texts),) for one in document.segments]
        done = reassemble(document, long)
        assert done == content.replace("late.", "late. and long").replace("wine", "wine and long")


def test_tabs_separate_the_texts_of_a_line() -> None:
    document = read_lines("Name:\t____\tDate:\nRed wine | the shop\n")
    assert [s.texts[0] for s in document.segments] == ["Name:", "Date:", "Red wine", "the shop"]


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("<g0></g0> rot ist", "<g0>rot</g0> ist"),
        ("ist rot <g0> </g0>", "ist <g0>rot</g0>"),
        ("<g2>rot</g2><g0><x1/></g0>", "<g2>rot</g2><g0>red<x1/></g0>"),
        ("ist <g0>rot</g0>", "ist <g0>rot</g0>"),
    ],
)
def test_an_element_that_had_words_is_never_empty(line: str, written: str) -> None:
    assert with_words(line, "<g0>red<x1/></g0> is <g2>good</g2>") == written


def test_a_line_between_breaks_is_never_empty() -> None:
    first, second = "<br\x1fid=1/>", "<br\x1fid=2/>"
    assert with_lines(f"ein {first}<g0></g0>{second}roter Wein") == (
        f"ein{first}<g0></g0> roter{second}Wein"
    )
    assert with_lines(f"Wein{first}{second}") == "Wein"
    assert with_lines(f"ein{first}Wein") == f"ein{first}Wein"
