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
from models.core.limits import AUDIO_SECONDS
from models.signals import recordings as reading
from models.signals.recordings import SampleArray, divided, header, read_blocks, read_sound

soundfile = pytest.importorskip("soundfile")
RATE = 8000
TIME = np.arange(4000) / RATE
TONE = (0.3 * np.sin(2 * np.pi * 440 * TIME)).astype(np.float32)


def wav(samples: Any = TONE, rate: int = RATE, **options: str) -> bytes:
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, **{"format": "WAV", **options})
    return stream.getvalue()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"subtype": "PCM_U8"}, 0.01),
        ({"subtype": "PCM_16"}, 1e-4),
        ({"subtype": "PCM_24"}, 1e-6),
        ({"subtype": "FLOAT"}, 1e-7),
        ({"format": "FLAC"}, 1e-4),
        ({"format": "AIFF"}, 1e-4),
        ({"format": "OGG"}, 0.05),
    ],
)
def test_formats_and_depths_have_the_same_samples(options: dict[str, str], error: float) -> None:
    assert np.abs(read_sound(wav(TONE, RATE, **options), RATE) - TONE).max() < error


def test_channels_are_averaged() -> None:
    stereo = np.stack([TONE, np.zeros_like(TONE)], 1)
    assert np.allclose(read_sound(wav(stereo, subtype="FLOAT"), RATE), TONE / 2, atol=1e-6)


@pytest.mark.parametrize("share", [-1.0, -0.98])
def test_channels_that_cancel_each_other_are_read_as_the_loudest(share: float) -> None:
    found = read_sound(wav(np.stack([TONE, share * TONE], 1), subtype="FLOAT"), RATE)
    assert np.allclose(found, TONE, atol=1e-6)


def encoded(form: str, codec: str, rate: int = 16_000, seconds: float = 12.5) -> tuple[bytes, Any]:
    """Return a file of two channels as PyAV writes it, and the mean of its channels."""
    av: Any = pytest.importorskip("av")
    time = np.arange(int(rate * seconds)) / rate
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
        middle = slice(rate, 11 * rate)
        spectrum = np.abs(np.fft.rfft(found[middle]))
        assert sorted((np.argsort(spectrum)[-2:] / 10).round()) == [300, 500]


@pytest.mark.parametrize("has_ffmpeg", [False, True])
def test_without_the_package_a_container_is_read_by_ffmpeg_or_one_line(
    has_ffmpeg: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    content, expected = encoded("mp4", "aac")
    monkeypatch.setitem(sys.modules, "av", None)
    if has_ffmpeg:  # a stand-in that writes a WAV file
        (tmp_path / "a.wav").write_bytes(wav(expected, 16_000))
        program = tmp_path / "ffmpeg"
        program.write_text(f"#!/bin/sh\ncat {tmp_path}/a.wav\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin" if has_ffmpeg else str(tmp_path))
    if has_ffmpeg:
        assert np.allclose(read_sound(content, 16_000), expected, atol=1e-3)
    else:
        with pytest.raises(InputError, match=r"\[audio\]|ffmpeg"):
            read_sound(content, 16_000)


@pytest.mark.parametrize("rate", [11_025, 16_000, 44_100, 96_000])
def test_other_rates_are_resampled(rate: int) -> None:
    time = np.arange(rate // 2) / rate
    tone = 0.3 * np.sin(2 * np.pi * 440 * time)
    found = read_sound(wav(tone, rate, subtype="FLOAT"), RATE)
    assert abs(len(found) - len(TONE)) <= 1
    assert np.abs(found[200:-200] - TONE[200 : len(found) - 200]).max() < 0.01


@pytest.mark.parametrize("length", [b"\xff\xff\xff\xff", b"\x00\xf0\xff\x7f"])
def test_a_pipe_does_not_know_its_length(length: bytes) -> None:
    whole = wav(subtype="PCM_16")
    piped = whole[:4] + length + whole[8:40] + length + whole[44:]
    assert (read_sound(io.BytesIO(piped), RATE) == read_sound(whole, RATE)).all()


@pytest.mark.parametrize(
    "samples",
    [
        TONE,
        TONE.tolist(),
        torch.tensor(TONE),
        np.stack([TONE, TONE]),
        np.stack([TONE, TONE], 1),
        (TONE * 32768).astype(np.int16),
        (TONE * 128 + 128).astype(np.uint8),
    ],
    ids=lambda samples: f"{type(samples).__name__}-{getattr(samples, 'dtype', '')}",
)
def test_arrays_have_the_samples_of_files(samples: Any) -> None:
    assert np.abs(read_sound(SampleArray(samples, RATE), RATE) - TONE).max() < 0.01


NOT_NUMBERS = TONE.copy()
NOT_NUMBERS[7] = np.nan
BAD = {
    "no samples": wav()[:44],
    "cannot be read": wav()[:30],
    "not numbers": wav(NOT_NUMBERS, subtype="FLOAT"),
    "is silent": wav(np.zeros(4000)),
    "silent": wav(np.full(4000, 0.25)),
    "Format not recognised": b"A line of text.\n" * 40,
    "cannot be": b"",
    r"samples of 3e\+19": wav(1e20 * TONE, subtype="FLOAT"),
    r"samples of 3e\+38": wav(
        np.full((4000, 2), 3e38, np.float32) * np.sign(TONE)[:, None], subtype="FLOAT"
    ),
    "too short, 5 ms": wav(TONE[:40]),
    "rate of 3;": wav(TONE, 3),
}


@pytest.mark.parametrize("found", BAD)
def test_a_bad_recording_is_one_line(found: str) -> None:
    with pytest.raises(InputError, match=found) as error:
        read_sound(BAD[found], RATE, "a.wav")
    assert "\n" not in str(error.value) and str(error.value).startswith("a.wav ")


def test_a_header_that_promises_more_than_there_is_costs_a_remark() -> None:
    whole = wav(subtype="PCM_16")
    assert header(whole[: 44 + 4000]).shortfall.startswith("0.25 s of the 0.50 s")
    stream = whole[:40] + b"\xff\xff\xff\xff" + whole[44:]
    assert not any(header(each).shortfall for each in (whole, stream, whole[:-2]))


def test_a_missing_file_a_folder_and_an_array_of_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no file"):
        read_sound(tmp_path / "a.wav", RATE)
    with pytest.raises(InputError, match="Is a directory"):
        read_sound(tmp_path, RATE)
    with pytest.raises(InputError, match="as numbers"):
        read_sound(SampleArray(["a"], RATE), RATE)


def test_a_hundred_hours_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"100\.0 hours; expected at most 24 hours"):
        read_sound(wav(np.tile(TONE, 90), 1), 1)  # a sample a second
    monkeypatch.setattr(reading, "AUDIO_STREAM_BYTES", 1000)
    with pytest.raises(InputError, match="endless"):
        read_sound(io.BytesIO(wav()), RATE)
    assert AUDIO_SECONDS > 3600


def test_without_the_packages_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("soundfile", "soxr"):
        monkeypatch.setitem(__import__("sys").modules, package, None)
        with pytest.raises(ModelError, match=f"{package}; install it: pip install"):
            read_sound(wav(), 16_000)
        monkeypatch.undo()


def test_hours_are_read_in_blocks() -> None:
    blocks = list(read_blocks(wav(np.tile(TONE, 50)), RATE))
    assert [len(block) for block in blocks] == [80_000, 80_000, 40_000]


# Division at silences.


def test_a_long_recording_is_divided_in_its_pauses() -> None:
    pause, speech = np.zeros(RATE // 2, np.float32), np.tile(TONE, 6)  # 3 seconds
    sound = np.concatenate([speech, pause] * 5)
    pieces = list(divided(np.split(sound, range(1234, len(sound), 1234)), RATE, 8.0))
    assert (np.concatenate([piece.samples for piece in pieces]) == sound).all()
    assert [len(piece.samples) <= 8 * RATE for piece in pieces] == [True] * len(pieces)
    ends = [piece.start % 3.5 for piece in pieces[1:]]
    assert ends and all(end >= 3 for end in ends)  # inside a pause


def test_a_short_recording_is_one_piece_and_silence_none() -> None:
    [piece] = divided([TONE], RATE, 8.0)
    assert piece.start == 0 and (piece.samples == TONE).all()
    assert list(divided([np.zeros(RATE * 30, np.float32)], RATE, 8.0)) == []
