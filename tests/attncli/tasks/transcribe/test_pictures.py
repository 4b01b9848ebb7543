"""Attention over time: pictures of recordings, and strips in the terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

from attncli.shell import app
from models import load_transcriber

TASK = ("transcribe", "-m")


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[str, str, int]:
    status = app.run(list(map(str, words)))
    found = capsys.readouterr()
    return found.out, found.err, status


def test_a_page_has_the_words_of_the_transcript_with_their_times_and_the_sound(
    speech_model: Path, wavs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "a.html"
    out, err, status = run(capsys, *TASK, speech_model, wavs / "dev0.wav", "--picture", page)
    found = load_transcriber(speech_model).transcribe(wavs / "dev0.wav", times=True)
    starts = re.findall(r'data-start="([\d.]+)"', page.read_text())
    assert status == 0 and not err and out.strip() == found.text
    assert starts == [f"{word.start:.3f}" for word in found.words] and starts
    assert "data:audio/wav;base64," in page.read_text()


def test_each_recording_of_several_has_a_file_of_arrays(
    speech_model: Path, wavs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [wavs / "dev0.wav", wavs / "dev1.wav"]
    _, err, status = run(capsys, *TASK, speech_model, *names, "--picture", tmp_path / "x.npz")
    assert status == 2 and "{name}" in err
    place = tmp_path / "{name}.npz"
    _, _, status = run(capsys, *TASK, speech_model, *names, "--picture", place)
    assert status == 0
    for name in names:
        with np.load(io.BytesIO((tmp_path / f"{name.stem}.npz").read_bytes())) as found:
            shares = found["weights-1"].sum(1)
            np.testing.assert_allclose(shares, np.ones_like(shares), atol=1e-4)
            assert len(found["tokens-1"]) == len(found["weights-1"])


def test_a_strip_in_the_terminal_is_beside_a_drawing(
    speech_model: Path, wavs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, _, _ = run(capsys, *TASK, speech_model, wavs / "dev0.wav")
    picture = ("--show", "--picture", tmp_path / "a.svg")
    shown, _, status = run(capsys, *TASK, speech_model, wavs / "dev0.wav", *picture)
    assert status == 0 and shown.startswith(plain) and "█" in shown
    assert (tmp_path / "a.svg").read_text().lstrip().startswith("<?xml")
