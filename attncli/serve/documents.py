"""POST /translate_file: a document in, the address of its translation out.

With `Accept: text/event-stream`, the answer is a stream of events: {"done": 3, "total": 10}, and at
the end {"translatedFileUrl": ...} or {"error": ...}.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from attncli.data.streams import TEXT
from attncli.documents import translation as jobs
from attncli.documents.document import Document, DocumentOptions, read_document
from attncli.documents.formats import (
    PACKED,
    check_lines,
    format_inside,
    format_of,
    hint,
    named_delimiter,
)
from attncli.faithful.result import Line, TranslatedLine
from attncli.serve._catalogue import TRANSLATE, ServedDirection
from attncli.serve._labels import AUTO, recognised
from attncli.serve._options import DOCUMENT_TIMES
from attncli.serve._requests import Parameters, RequestError, invalid
from attncli.serve._service import Call, call_of
from attncli.serve._translate import doubts
from attncli.serve.models import Job
from attncli.task.runner import JsonObject
from models.core.errors import ModelError
from models.core.types import EMPTY, Translation

KEPT_SECONDS = 1800.0  # for which a translated document can be fetched
KEPT_BYTES = 256 << 20  # of all together; the oldest go first


class KeptFile(NamedTuple):
    """A translated document that waits to be fetched."""

    content: bytes
    name: str
    until: float  # by time.monotonic


class Upload(NamedTuple):
    """A document that was sent, ready to be translated."""

    document: Document
    lines: list[Line]  # its texts
    directions: list[ServedDirection | None]  # of each text; None: it is in the target language
    name: str  # of the translation
    job: Job  # with the glossary and the form of address


class KeptFiles:
    """Translated documents by their secret names. They are only in memory."""

    def __init__(self) -> None:
        self._files: dict[str, KeptFile] = {}  # the oldest first

    def add(self, content: bytes, name: str) -> str:
        """Keep a document; return its secret name."""
        now = time.monotonic()
        token = secrets.token_urlsafe(18)
        self._files[token] = KeptFile(content, name, now + KEPT_SECONDS)
        size = sum(len(file.content) for file in self._files.values())
        for oldest, file in [*self._files.items()]:
            if size <= KEPT_BYTES and file.until >= now:
                break
            size -= len(self._files.pop(oldest).content)
        return token

    def get(self, token: str) -> KeptFile:
        """Return a document. Raises RequestError if it is not there any more."""
        found = self._files.get(token)
        if found is None or found.until < time.monotonic():
            raise RequestError(404, "No such file: translated files are kept for half an hour")
        return found


FILES = KeptFiles()


async def translate_file(request: Request) -> Response:
    """Translate the document in the field `file`."""
    call = await call_of(request)
    upload = await _upload(call)
    if "text/event-stream" in request.headers.get("accept", ""):
        return StreamingResponse(_events(call, upload), media_type="text/event-stream")
    outcomes = _copies(upload)
    await call.gather(_pieces(call, upload, outcomes))
    return JSONResponse(await _answer(call, upload, outcomes))


async def download_file(request: Request) -> Response:
    """Return a translated document."""
    file = FILES.get(request.path_params["token"])
    named = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}"}
    return Response(file.content, media_type="application/octet-stream", headers=named)


async def _events(call: Call, upload: Upload) -> AsyncIterator[bytes]:
    outcomes, done = _copies(upload), 0
    try:
        yield event({"done": 0, "total": len(outcomes)})
        async for piece in _pieces(call, upload, outcomes):
            done += len(piece)
            yield event({"done": done, "total": len(outcomes)})
        yield event(await _answer(call, upload, outcomes))
    except RequestError as error:
        yield event({"error": error.message})


async def _upload(call: Call) -> Upload:
    given, catalogue = call.given, call.service.catalogue
    if "file" not in given.files:
        raise invalid("missing file parameter")
    name = PurePosixPath(given.file_names["file"].replace("\\", "/")).name
    source, target = given.text("source"), given.text("target")
    format = format_of(Path(name))
    format = format_inside(Path(name), given.files["file"]) if format == TEXT else format
    if advice := hint(Path(name)):
        raise invalid(f"this kind of file is not supported; {advice}")
    most = call.service.options.max_text * DOCUMENT_TIMES
    if format not in PACKED and len(given.files["file"]) > most:
        raise RequestError(413, f"The document is too large: at most {most:,} bytes")
    document, lines = await call.service.read(partial(_read, given, format, name))
    model = given.text("model", "")
    target = catalogue.language(target, model)
    texts = ["" if line.fault else line.text for line in lines]
    sources = [source] * len(texts)
    if source == AUTO:
        known = {a for a, b in catalogue.directions(model) if b == target} | {target}
        sources = [one.language for one in await recognised(call, texts, known)]
    each = {
        language: None if language == target else catalogue.direction(language, target, model)
        for language in {*sources, *([] if texts else [target])}
    }
    pairs: Any = {"glossary": call.terms(), "memory": call.terms("memory")}
    job = call.job(TRANSLATE, settings=[call.address], nbest=1, document=True, **pairs)
    path = PurePosixPath(name)
    name = f"{path.stem}.{target}{path.suffix}"
    return Upload(document, lines, [each[one] for one in sources], name, job)


def _read(given: Parameters, format: str, name: str) -> tuple[Document, list[Line]]:
    lists = (given.text(part, "").split(",") for part in ("column", "field", "keep"))
    columns, fields, keep = (tuple(filter(None, map(str.strip, names))) for names in lists)
    to, source = given.text("target"), given.text("source")
    options = DocumentOptions(columns, fields, keep, named_delimiter(Path(name)), to, source)
    try:
        if format == TEXT:
            check_lines(Path(name))
        document = jobs.opened(given.files["file"], format, options)
        return document, jobs.lines_of(document)
    except ModelError as error:
        raise invalid(str(error)) from None


async def _answer(call: Call, upload: Upload, outcomes: list[TranslatedLine]) -> JsonObject:
    """Keep the translated document; return its address, and the messages about it."""
    document, read = upload.document, call.service.read
    content = await read(lambda: jobs.written(document, outcomes))
    notes = await read(lambda: [*jobs.notes(document, outcomes)])
    left = await read(lambda: [*jobs.left(document, outcomes, quoted=True)])
    token = FILES.add(content, upload.name)
    url = f"{call.request.base_url}download_file/{token}/{quote(upload.name, safe='')}"
    # of the texts that were translated, the most frequent first
    languages = [*dict(Counter(one.source for one in upload.directions if one).most_common())]
    facts = {"name": upload.name, "notes": notes, "left": left, "languages": languages}
    return {"translatedFileUrl": url, **facts}


async def translated_html(
    call: Call, model: str, job: Job, texts: Sequence[str]
) -> list[JsonObject]:
    """Return the translation of each text in HTML, and its alternatives."""
    documents, lines = await asyncio.to_thread(_read_html, texts)
    results = iter(await call.run(model, job, [text for each in lines for text in each]))
    found = [[next(results) for _ in own] for own in lines]
    return await asyncio.to_thread(
        lambda: [*map(partial(_html, job.options.search.nbest), documents, found)]
    )


def _read_html(texts: Sequence[str]) -> tuple[list[Document], list[list[str]]]:
    """Return the documents of texts in HTML, and their lines. Raises RequestError for others."""
    try:
        documents = [read_document(text, "html", DocumentOptions()) for text in texts]
    except ModelError as error:
        raise invalid(str(error)) from None
    return documents, [[line.text for line in jobs.lines_of(each)] for each in documents]


def _html(nbest: int, document: Document, found: list[TranslatedLine]) -> JsonObject:
    ranked = (jobs.translated(document, _of_rank(found, rank)) for rank in range(nbest))
    best, *others = dict.fromkeys(ranked)
    return {"translatedText": best, "alternatives": others, **doubts(found)}


def _copies(upload: Upload) -> list[TranslatedLine]:
    """Return an outcome for each text of a document: the text itself."""
    return [
        TranslatedLine(line, Translation(line.text, (EMPTY._replace(text=line.text),)))
        for line in upload.lines
    ]


async def _pieces(
    call: Call, upload: Upload, outcomes: list[TranslatedLine]
) -> AsyncIterator[Sequence[TranslatedLine]]:
    """Translate the texts of a document into the outcomes, and yield those of each piece."""
    for direction in {*upload.directions} - {None}:
        assert direction
        numbers = [n for n, one in enumerate(upload.directions) if one == direction]
        job = upload.job.in_direction(direction.languages)
        lines = [outcomes[n].line for n in numbers]
        rest = iter(numbers)
        async for piece in call.service.results(direction.model, job, lines, DOCUMENT_TIMES):
            for outcome in piece:
                outcomes[next(rest)] = outcome
            yield piece


def _of_rank(found: Sequence[TranslatedLine], rank: int) -> list[TranslatedLine]:
    """Return the outcomes with their output of a rank as the best one."""
    ranked = []
    for outcome in found:
        if outcome.translation:
            hypotheses = outcome.translation.hypotheses[rank:] or outcome.translation.hypotheses
            translation = outcome.translation._replace(hypotheses=hypotheses)
            outcome = replace(outcome, translation=translation)
        ranked.append(outcome)
    return ranked


def event(record: JsonObject) -> bytes:
    """Return an event of a stream."""
    return f"data: {json.dumps(record)}\n\n".encode()
