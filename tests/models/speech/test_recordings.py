"""Recordings of any kind have the same samples; what cannot be used is one line."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.core.errors import InputError, ModelError, NotFoundError
from models.speech import recordings
from models.speech.recordings import SampleArray, divided, header, read_sound

soundfile = pytest.importorskip("soundfile")
RATE = 8000
TONE = (0.3 * np.sin(2 * np.pi * 440 * np.arange(4000) / RATE)).astype(np.float32)


def wav(samples: Any = TONE, rate: int = RATE, **options: str) -> bytes:
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, **{"format": "WAV", "subtype": "FLOAT", **options})
    return stream.getvalue()


def coded(form: str, subtype: str = "PCM_16") -> bytes:
    return wav(format=form, subtype=subtype)


def piped(length: bytes) -> io.BytesIO:
    """Return a WAV file whose header does not know its length."""
    whole = coded("WAV")
    return io.BytesIO(whole[:4] + length + whole[8:40] + length + whole[44:])


ARRAYS = [TONE, TONE.tolist(), torch.tensor(TONE), np.stack([TONE, TONE]), np.stack([TONE] * 2, 1)]
ARRAYS += [(TONE * 32768).astype(np.int16), (TONE * 128 + 128).astype(np.uint8)]
SAME: dict[str, tuple[Any, float]] = {
    "8 bits": (coded("WAV", "PCM_U8"), 0.01),
    "16 bits": (coded("WAV"), 1e-4),
    "24 bits": (coded("WAV", "PCM_24"), 1e-6),
    "float": (wav(), 1e-7),
    "FLAC": (coded("FLAC"), 1e-4),
    "AIFF": (coded("AIFF"), 1e-4),
    "OGG": (coded("OGG", "VORBIS"), 0.05),
    "pipe of sox": (piped(b"\xff\xff\xff\xff"), 1e-4),
    "pipe of ffmpeg": (piped(b"\x00\xf0\xff\x7f"), 1e-4),
    "mean of channels": (wav(np.stack([2 * TONE, np.zeros_like(TONE)], 1)), 1e-6),
    "opposite channels": (wav(np.stack([TONE, -TONE], 1)), 1e-6),
    "nearly opposite channels": (wav(np.stack([TONE, -0.98 * TONE], 1)), 1e-6),
    **{f"array {n}": (SampleArray(each, RATE), 0.01) for n, each in enumerate(ARRAYS)},
}


@pytest.mark.parametrize("kind", SAME)
def test_every_kind_of_recording_has_the_same_samples(kind: str) -> None:
    source, error = SAME[kind]
    found = read_sound(source, RATE)
    assert found.shape == TONE.shape and np.abs(found - TONE).max() < error


def encoded(form: str, codec: str, rate: int = 16_000) -> tuple[bytes, Any]:
    """Return 12.5 s of two channels as PyAV writes them, and the mean of the channels."""
    av: Any = pytest.importorskip("av")
    time = np.arange(int(rate * 12.5)) / rate
    both = np.stack([0.4 * np.sin(2 * np.pi * pitch * time) for pitch in (300, 500)])
    stream = io.BytesIO()
    with av.open(stream, "w", format=form) as container:
        audio = container.add_stream(codec, rate=rate, layout="stereo")
        audio.bit_rate = 96_000
        frame = av.AudioFrame.from_ndarray(both.astype(np.float32), "fltp", "stereo")
        frame.sample_rate, frame.pts = rate, 0
        for packet in [*audio.encode(frame), *audio.encode(None)]:
            container.mux(packet)
    return stream.getvalue(), both.mean(0)


FORMS = [("mp4", "aac"), ("mov", "aac"), ("adts", "aac"), ("ac3", "ac3"), ("asf", "wmav2")]
FORMS += [("webm", "libopus"), ("matroska", "flac")]


@pytest.mark.parametrize(("form", "codec"), FORMS)
@pytest.mark.parametrize("rate", [16_000, 48_000])
def test_containers_have_the_same_samples(form: str, codec: str, rate: int) -> None:
    if (codec, rate) == ("ac3", 16_000):
        pytest.skip("AC-3 has no such rate")
    content, expected = encoded(form, codec, rate)
    for found in (read_sound(content, rate), read_sound(io.BytesIO(content), rate)):
        assert abs(len(found) - len(expected)) < 0.15 * rate
        spectrum = np.abs(np.fft.rfft(found[rate : 11 * rate]))
        assert sorted((np.argsort(spectrum)[-2:] / 10).round()) == [300, 500]


def test_without_packages_one_line_names_the_extra_or_ffmpeg_reads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    content, expected = encoded("mp4", "aac")
    monkeypatch.setenv("PATH", str(tmp_path))
    for package, given in (("soundfile", wav()), ("soxr", wav()), ("av", content)):
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, package, None)
            with pytest.raises(ModelError, match=r"install it: pip install|\[audio\]|ffmpeg"):
                read_sound(given, 16_000)
    monkeypatch.setitem(sys.modules, "av", None)
    (tmp_path / "a.wav").write_bytes(wav(expected, 16_000))
    program = tmp_path / "ffmpeg"  # a stand-in that writes a WAV file
    program.write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/a.wav\n")
    program.chmod(0o755)
    assert np.allclose(read_sound(content, 16_000), expected, atol=1e-3)


@pytest.mark.parametrize("rate", [11_025, 16_000, 44_100, 96_000])
def test_other_rates_are_resampled(rate: int) -> None:
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(rate // 2) / rate)
    found = read_sound(wav(tone, rate), RATE)
    assert abs(len(found) - len(TONE)) <= 1
    assert np.abs(found[200:-200] - TONE[200 : len(found) - 200]).max() < 0.01


BAD: dict[str, Any] = {
    "no samples": coded("WAV")[:44],
    "cannot be read": wav()[:30],
    "not numbers": wav(np.append(TONE, np.nan)),
    "is silent": wav(np.zeros(4000)),
    "silent": wav(np.full(4000, 0.25)),
    "Format not recognised": b"A line of text.\n" * 40,
    "cannot be": b"",
    r"samples of 3e\+19": wav(1e20 * TONE),
    r"samples of 3e\+38": wav(np.full((4000, 2), 3e38, np.float32) * np.sign(TONE)[:, None]),
    "too short, 5 ms": wav(TONE[:40]),
    "rate of 3;": wav(TONE, 3),
    "unimplemented": coded("WAV")[:34] + b"\0\0" + coded("WAV")[36:],  # bits of a sample
    "is silent;": b"RF64\xff\xff\xff\xffWAVEds64\x1c\0\0\0"
    + b"\0\0\0\0\0\0\0\x80" * 3
    + bytes(4)
    + wav(np.zeros(4000))[12:],
    r"100\.0 hours; expected at most 24 hours": wav(np.tile(TONE, 90), 1),  # a sample a second
    "as numbers": SampleArray(["a"], RATE),
    "Is a directory": Path("/"),
}


@pytest.mark.parametrize("found", BAD)
def test_a_bad_recording_is_one_line(found: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=found) as error:
        read_sound(BAD[found], 1 if "hours" in found else RATE, "a.wav")
    assert "\n" not in str(error.value) and not capfd.readouterr().err


def test_a_missing_file_and_an_endless_pipe_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFoundError, match="no file"):
        read_sound(tmp_path / "a.wav", RATE)
    monkeypatch.setattr(recordings, "AUDIO_STREAM_BYTES", 1000)
    with pytest.raises(InputError, match="endless"):
        read_sound(io.BytesIO(wav()), RATE)


def test_a_header_that_promises_more_than_there_is_costs_a_remark() -> None:
    whole = coded("WAV")
    assert header(whole[: 44 + 4000]).shortfall.startswith("0.25 s of the 0.50 s")
    stream = whole[:40] + b"\xff\xff\xff\xff" + whole[44:]
    assert not any(header(each).shortfall for each in (whole, stream, whole[:-2]))


def test_a_long_recording_is_divided_in_its_pauses() -> None:
    pause, speech = np.zeros(RATE // 2, np.float32), np.tile(TONE, 6)  # 3 seconds
    sound = np.concatenate([speech, pause] * 5)
    pieces = list(divided(np.split(sound, range(1234, len(sound), 1234)), RATE, 8.0))
    assert (np.concatenate([piece.samples for piece in pieces]) == sound).all()
    assert max(len(piece.samples) for piece in pieces) <= 8 * RATE and len(pieces) > 1
    assert all(piece.start % 3.5 >= 3 for piece in pieces[1:])  # inside a pause
    [piece] = divided([TONE], RATE, 8.0)
    assert piece.start == 0 and (piece.samples == TONE).all()
    assert list(divided([np.zeros(RATE * 30, np.float32)], RATE, 8.0)) == []
