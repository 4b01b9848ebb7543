"""POST /transcribe, and /v1/audio/transcriptions for OpenAI's clients: what a recording says."""

from __future__ import annotations

import asyncio
import zlib
from pkgutil import resolve_name
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from attncli.render.sound_attention import sound_maps, spectrogram_url
from attncli.serve.catalogue import DOCUMENT_TIMES, TRANSCRIBE, name_of
from attncli.serve.models import TranscribeJob
from attncli.serve.requests import RequestError, invalid
from attncli.serve.service import Call, call_of
from models.base.errors import ModelError

LONGEST = 1800.0  # seconds of a recording
FORMATS = ("json", "text", "srt", "verbose_json", "vtt")
GRANULARITIES = ("segment", "word")


async def transcribe(request: Request) -> Response:
    """Transcribe the recording in the body, or in the field `file` of a form."""
    call = await call_of(request)
    job = TranscribeJob(call.given.flag("attention"), call.given.text("language", ""))
    found = await transcribed(call, call.given.text("model", ""), job)
    return JSONResponse(record(found))


async def transcriptions(request: Request) -> Response:
    """Transcribe the field `file` in the form of OpenAI's clients."""
    call = await call_of(request)
    given = call.given
    model, format = given.text("model"), given.text("response_format", "json")
    known = call.service.catalogue.models()
    if model not in known or known[model].facts.task != TRANSCRIBE:
        names = ", ".join(n for n, one in known.items() if one.facts.task == TRANSCRIBE)
        raise RequestError(404, f"No model {model[:80]}; expected one of {names or 'none'}")
    if format not in FORMATS:
        raise invalid(f"response_format; expected {', '.join(FORMATS)}")
    parts = given.values.get("timestamp_granularities[]") or ["segment"]
    parts = [parts] if isinstance(parts, str) else parts
    if not {*parts} <= {*GRANULARITIES}:
        raise invalid(f"timestamp_granularities[]; expected {' or '.join(GRANULARITIES)}")
    language = given.text("language", "")
    found = await transcribed(call, model, TranscribeJob(language=language))
    if format == "json":
        return JSONResponse({"text": found.text})
    if format == "verbose_json":
        return JSONResponse(verbose(found, language, parts))
    if format == "text":
        return PlainTextResponse(f"{found.text}\n")
    rendered = resolve_name("attncli.render.transcripts:rendered")  # imports torch
    return PlainTextResponse(rendered(found, format, alone=True))


async def transcribed(call: Call, model: str, job: TranscribeJob) -> Any:
    """Return the transcribed recording. Raises RequestError if it cannot be read."""
    content = next(filter(None, call.given.files.values()), b"")
    if not content:
        raise invalid("no recording; send its bytes as the body, or as the field `file` of a form")
    name = call.service.catalogue.model(model, TRANSCRIBE).name
    await asyncio.to_thread(check_seconds, content)
    pieces = call.service.results(name, job, [content], DOCUMENT_TIMES)
    [found] = await call.gather(pieces)
    if found.transcript is None:
        raise invalid(found.note)
    return found


def check_seconds(content: bytes) -> None:
    """Raise RequestError for what is no recording, and for one that is too long."""
    try:
        seconds = resolve_name("models.sound.reading:seconds_of")(content)
    except ModelError as error:
        raise invalid(str(error)) from None
    if seconds > LONGEST:
        raise RequestError(413, f"The recording has {seconds:,.0f} s: at most {LONGEST:,.0f}")


def record(found: Any) -> dict[str, Any]:
    """Return text, words and segments of a recording; with attention, what is drawn of it."""
    transcript = found.transcript
    answer: dict[str, Any] = {
        "text": transcript.text,
        "seconds": round(transcript.seconds, 3),
        "words": words_of(transcript.words),
        "segments": [
            {"start": round(each.start, 3), "end": round(each.end, 3), "text": each.text}
            for each in transcript.segments
        ],
    }
    if maps := sound_maps(transcript):
        answer["maps"] = [
            {
                "start": round(one.start, 3),
                "end": round(one.end, 3),
                "tokens": list(one.tokens),
                "weights": one.shares.astype(float).round(3).tolist(),
                "slotSeconds": one.slot_seconds,
                "spectrogram": spectrogram_url(one),
            }
            for one in maps
        ]
    return answer


def words_of(words: Any) -> list[dict[str, Any]]:
    """Return words with their times in seconds."""
    return [
        {"word": one.text, "start": round(one.start, 3), "end": round(one.end, 3)} for one in words
    ]


def compression(text: str) -> float:
    """Return the length of a text divided by that of its compressed form."""
    content = text.encode("utf-8", "replace")
    return len(content) / len(zlib.compress(content))


def verbose(found: Any, language: str, parts: list[str]) -> dict[str, Any]:
    """Return a transcript as OpenAI's verbose JSON. parts: of GRANULARITIES."""
    transcript = found.transcript
    answer: dict[str, Any] = {
        "task": "transcribe",
        "language": name_of(language).lower() if language else "unknown",
        "duration": round(transcript.seconds, 3),
        "text": transcript.text,
    }
    if "word" in parts:
        answer["words"] = words_of(transcript.words)
    if "segment" in parts:
        answer["segments"] = [
            {
                "id": number,
                "seek": round(100 * each.start),
                "start": round(each.start, 3),
                "end": round(each.end, 3),
                "text": each.text,
                "tokens": list(each.hypotheses[0].ids),
                "temperature": 0.0,
                "avg_logprob": each.hypotheses[0].log_prob / (len(each.hypotheses[0].ids) + 1),
                "compression_ratio": round(compression(each.text), 3),
                "no_speech_prob": None,  # is not computed
            }
            for number, each in enumerate(transcript.segments)
        ]
    return answer
