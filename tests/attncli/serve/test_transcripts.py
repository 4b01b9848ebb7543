"""Recordings in the service: our protocol, OpenAI's, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("soundfile")
pytest.importorskip("httpx")

import httpx
import soundfile

from models import load
from models.speech.transcripts import Transcript
from tests.attncli.serve.conftest import SPEECH as MODEL

TRANSCRIPTIONS = "/v1/audio/transcriptions"


@pytest.fixture(scope="module")
def transcript(speech: tuple[str, Path], wav: bytes) -> Transcript:
    found: Transcript = load(speech[1], "transcribe").transcribe(wav, times=True)
    assert found.words
    return found


def test_a_body_and_a_form_give_the_text_of_the_command(
    speech: tuple[str, Path], wav: bytes, transcript: Transcript
) -> None:
    address = f"{speech[0]}/transcribe?model={MODEL}&attention=true"
    form = httpx.post(address, files={"file": ("a.wav", wav)}, timeout=60).json()
    for kind in ("audio/wav", "application/octet-stream"):
        body = httpx.post(address, content=wav, headers={"Content-Type": kind}, timeout=60).json()
        assert body == form
    assert form["text"] == transcript.text
    assert [one["word"] for one in form["words"]] == [word.text for word in transcript.words]
    [drawn] = form["maps"]
    assert len(drawn["tokens"]) == len(drawn["weights"])
    assert all(max(row) == 1 for row in drawn["weights"])


def test_the_formats_of_openai(
    speech: tuple[str, Path], wav: bytes, transcript: Transcript
) -> None:
    client = pytest.importorskip("openai").OpenAI(base_url=f"{speech[0]}/v1", api_key="none")

    def asked(**more: Any) -> Any:
        file = ("a.wav", io.BytesIO(wav))
        return client.audio.transcriptions.create(model=MODEL, file=file, **more)

    assert asked().text == transcript.text
    assert asked(response_format="text").strip() == transcript.text
    assert asked(response_format="vtt").startswith("WEBVTT\n\n00:00:0")
    assert asked(response_format="srt").startswith("1\n00:00:0")
    both = asked(response_format="verbose_json", timestamp_granularities=["word", "segment"])
    assert both.duration == pytest.approx(transcript.seconds, abs=1e-3)
    assert [one.start for one in both.words] == [round(w.start, 3) for w in transcript.words]
    assert [one.text for one in both.segments] == [one.text for one in transcript.segments]
    assert asked(response_format="verbose_json").words is None


def test_what_cannot_be_transcribed_is_refused_in_the_form_of_openai(
    speech: tuple[str, Path], wav: bytes
) -> None:
    long = io.BytesIO()
    soundfile.write(long, np.zeros(8000 * 1900, np.int16), 8000, format="FLAC")
    silence = io.BytesIO()
    soundfile.write(silence, np.zeros(8000, np.int16), 8000, format="WAV")
    cases: tuple[tuple[int, bytes, dict[str, str]], ...] = (
        (404, wav, {"model": "whisper-1"}),
        (404, wav, {"model": "everyday"}),
        (400, wav, {"model": MODEL, "response_format": "xml"}),
        (400, wav, {"model": MODEL, "timestamp_granularities[]": "letter"}),
        (400, wav, {"model": MODEL, "temperature": "0.5"}),
        (400, wav, {"model": MODEL, "language": "de"}),
        (200, wav, {"model": MODEL, "temperature": "0", "prompt": "", "stream": "false"}),
        (400, b"no recording", {"model": MODEL}),
        (400, silence.getvalue(), {"model": MODEL}),
        (413, long.getvalue(), {"model": MODEL}),
    )
    for status, content, values in cases:
        answer = httpx.post(
            speech[0] + TRANSCRIPTIONS, files={"file": ("a", content)}, data=values, timeout=60
        )
        assert answer.status_code == status, (values, answer.text)
        if status != 200:
            assert {*answer.json()["error"]} == {"message", "type", "param", "code"}
    none = httpx.post(speech[0] + TRANSCRIPTIONS, data={"model": MODEL}, timeout=60)
    assert none.status_code == 400 and "no recording" in none.json()["error"]["message"]
