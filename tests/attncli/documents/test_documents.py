"""Every format: the identity changes nothing, a translation changes segments only."""

from __future__ import annotations

import html
from collections.abc import Iterator

import pytest

from attncli.data.lines import CHUNK_LINES, TranslatedLine
from attncli.documents import messages
from attncli.documents.document import (
    FORMATS,
    Document,
    DocumentOptions,
    has_letters,
    read_document,
)
from attncli.documents.inline import TAGS
from attncli.tasks.translate import documents
from attncli.tasks.translate.engine import TranslateOptions
from attncli.tasks.translate.lines import translate_lines
from models.base.types import Hypothesis, Translation
from models.inference.search.batching import windows
from models.use_config import SearchConfig
from tests.attncli.documents import generated
from tests.attncli.tags.small import one_to_one
from tests.upper_model import Upper

OPTIONS = {"csv": DocumentOptions(columns=("text",)), "jsonl": DocumentOptions(fields=("text",))}


class Capitals(Upper):
    max_source_length = 10_000


class Same(Capitals):
    """Returns each text."""

    def _translation(self, text: str, search: SearchConfig) -> Translation:
        return Translation(text, (Hypothesis(text, 0, 0, (), ()),))


def read(name: str, content: str) -> Document:
    return read_document(content, name, OPTIONS.get(name, DocumentOptions()))


def made(name: str) -> Iterator[Document]:
    return (read(name, generated.document(name, seed)) for seed in range(60))


def outcomes(document: Document, model: Upper) -> list[TranslatedLine]:
    results = translate_lines(
        windows(documents.lines_of(document), CHUNK_LINES),
        model,
        options=TranslateOptions(verbatim=True),
        aligner=one_to_one,
    )
    return [outcome for chunk in results for outcome in chunk]


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
