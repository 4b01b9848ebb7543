"""Documents whose texts are translated into capitals."""

from __future__ import annotations

import re
from typing import Any

from attncli.data.lines import CHUNK_LINES
from attncli.documents import translation as documents
from attncli.documents.document import (
    Document,
    DocumentOptions,
    read_document,
    reassemble,
)
from attncli.faithful.result import TranslatedLine
from attncli.translate.chunks import translate_lines
from attncli.translate.engine import TranslateOptions
from models.search.batching import windows
from tests.attncli.faithful.small import one_to_one
from tests.upper_model import Upper

TAG_OR_TEXT = re.compile(r"(?P<tag><[^<>]*>|&\w+;|\{[^{}]*\})|.", re.DOTALL)


class Capitals(Upper):
    max_source_length = 10_000

    def __init__(self) -> None:
        super().__init__(reserved=32)


def outcomes(document: Document, model: Upper) -> list[TranslatedLine]:
    results = translate_lines(
        windows(documents.lines_of(document), CHUNK_LINES),
        model,
        options=TranslateOptions(verbatim=True),
        aligner=one_to_one,
    )
    return [outcome for chunk in results for outcome in chunk]


def in_capitals(name: str, content: str, **options: Any) -> str:
    """Translate into capitals, except for tags."""
    document = read_document(content, name, DocumentOptions(**options))
    texts = [
        tuple(TAG_OR_TEXT.sub(lambda f: f["tag"] or f[0].upper(), text) for text in segment.texts)
        for segment in document.segments
    ]
    return reassemble(document, texts)
