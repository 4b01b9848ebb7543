"""POST /transcribe and /v1/audio/transcriptions: transcripts of recordings."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from attncli.data.named_files import NamedFile
from attncli.serve._catalogue import TRANSCRIBE, name_of
from attncli.serve._media import steering
from attncli.serve._options import DOCUMENT_TIMES
from attncli.serve._requests import FALSE, RequestError, invalid
from attncli.serve._service import Call, call_of
from attncli.serve.models import Job
from attncli.task.runner import JsonObject
from attncli.transcribe.drawing import shares, sound_maps, spectrogram_url, tokens_of
from attncli.transcribe.formats import TranscribedFile, rendered
from models.core.errors import ModelError
from models.speech.recordings import header
from models.speech.transcripts import SpokenSegment, Transcript, Word

LONGEST = 1800.0  # seconds of a recording
FORMATS = ("json", "text", "srt", "verbose_json", "vtt")
GRANULARITIES = ("segment", "word")
UNSUPPORTED = {"temperature": ("", "0", "0.0", "none"), "prompt": ("",), "stream": FALSE}


async def transcribe(request: Request) -> Response:
    """Transcribe the recording in the body, or in the field `file` of a form."""
    call = await call_of(request)
    given = call.given
    language, weights = given.text("language", ""), given.flag("attention")
    job = call.job(TRANSCRIBE, align=True, source=language, weights=weights, **steering(call))
    _, transcript = await transcribed(call, given.text("model", ""), job)
    return JSONResponse(record(transcript))


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
    for name, unset in UNSUPPORTED.items():
        if str(given.values.get(name, "")).strip().lower() not in unset:
            raise invalid(f"{name} is not supported")
    parts = given.values.get("timestamp_granularities[]") or ["segment"]
    parts = [parts] if isinstance(parts, str) else parts
    if not {*parts} <= {*GRANULARITIES}:
        raise invalid(f"timestamp_granularities[]; expected {' or '.join(GRANULARITIES)}")
    language = given.text("language", "")
    job = Job.of(TRANSCRIBE, align=True, source=language)
    found, transcript = await transcribed(call, model, job)
    if format == "json":
        return JSONResponse({"text": found.text})
    if format == "verbose_json":
        return JSONResponse(verbose(transcript, language, parts))
    if format == "text":
        return PlainTextResponse(f"{found.text}\n")
    return PlainTextResponse(rendered(found, format, alone=True))


async def transcribed(call: Call, model: str, job: Job) -> tuple[TranscribedFile, Transcript]:
    """Return the recording and its transcript. Raises RequestError if it cannot be read."""
    content = next(filter(None, call.given.files.values()), b"")
    if not content:
        raise invalid("no recording; send its bytes as the body, or as the field `file` of a form")
    name = call.service.catalogue.model(model, TRANSCRIBE).name
    await asyncio.to_thread(check_seconds, content)
    file = NamedFile("the recording", content)
    pieces = call.service.results(name, job, [file], DOCUMENT_TIMES)
    [found] = await call.gather(pieces)
    if found.transcript is None:
        raise invalid(found.note)
    return found, found.transcript


def check_seconds(content: bytes) -> None:
    """Raise RequestError for what is no recording, and for one that is too long."""
    try:
        seconds = header(content).seconds
    except ModelError as error:
        raise invalid(str(error)) from None
    if seconds > LONGEST:
        raise RequestError(413, f"The recording has {seconds:,.0f} s: at most {LONGEST:,.0f}")


def record(transcript: Transcript) -> JsonObject:
    """Return text, words and segments of a recording; with attention, what is drawn of it."""
    answer: JsonObject = {
        "text": transcript.text,
        "seconds": round(transcript.seconds, 3),
        "words": words_of(transcript.words),
        "segments": [times(each) | {"text": each.text} for each in transcript.segments],
    }
    if maps := sound_maps(transcript):
        answer["maps"] = [
            times(one)
            | {
                "tokens": tokens_of(each),
                "weights": shares(each).astype(float).round(3).tolist(),
                "slotSeconds": each.slot_seconds,
                "spectrogram": spectrogram_url(each),
            }
            for one, each in maps
        ]
    return answer


def words_of(words: Iterable[Word]) -> list[JsonObject]:
    """Return words with their times in seconds."""
    return [{"word": one.text, **times(one)} for one in words]


def times(one: Word | SpokenSegment) -> dict[str, float]:
    """Return start and end of a part of a recording, in seconds."""
    return {"start": round(one.start, 3), "end": round(one.end, 3)}


def verbose(transcript: Transcript, language: str, parts: list[str]) -> JsonObject:
    """Return a transcript as OpenAI's verbose JSON. parts: of GRANULARITIES."""
    answer: JsonObject = {
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
                **times(each),
                "text": each.text,
                "tokens": list(each.hypotheses[0].ids),
                "temperature": 0.0,
                "avg_logprob": each.hypotheses[0].log_prob / (len(each.hypotheses[0].ids) + 1),
                "compression_ratio": round(len(content) / len(zlib.compress(content)), 3),
                "no_speech_prob": each.no_speech,
            }
            for number, each in enumerate(transcript.segments)
            for content in [each.text.encode("utf-8", "replace")]
        ]
    return answer
