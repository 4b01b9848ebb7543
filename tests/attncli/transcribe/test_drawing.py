"""Pictures of the attention to sound."""

from __future__ import annotations

import base64
import io
import re
import wave

import numpy as np
import pytest
import torch
from PIL import Image

from attncli.terminal.messages import Screen
from attncli.transcribe.drawing import WRITERS, sound_page, spectrogram_url, strips, wav_of
from models.core.types import Hypothesis
from models.speech.transcripts import SoundAttention, SpokenSegment, Word

WEIGHTS = torch.tensor([[0.2, 0.1, 0.0, 0.0, 0.0], [0.0, 0.0, 0.1, 0.4, 0.1]])


def made(*tokens: str) -> tuple[SpokenSegment, SoundAttention]:
    energies = torch.randn(50, 8, generator=torch.Generator().manual_seed(1))
    words = tuple(Word(token, 1.0 + n, 1.5 + n) for n, token in enumerate(tokens))
    found = SoundAttention(tokens, WEIGHTS[: len(tokens)], 0.4, energies, 0.04)
    output = Hypothesis(" ".join(tokens), 0.0, 0.0, tokens, ())
    return SpokenSegment(1.0, 3.0, (output,), words, found), found


MAPS = [made("one", "<b>two"), made("three", "$four_")]


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_picture_is_written_again_equal(suffix: str) -> None:
    write = WRITERS[suffix]
    assert write("a.wav", MAPS, b"") == write("a.wav", MAPS, b"") != write("a.wav", MAPS[:1], b"")
    assert write("a.wav", [], b"")


def test_the_page_has_each_word_with_its_time_and_the_sound() -> None:
    samples = np.sin(np.arange(800, dtype=np.float32) / 5)
    page = sound_page("<i>.wav", MAPS, wav_of(samples, 8000)).decode()
    assert "<b>two" not in page and "<i>.wav" not in page
    starts = re.findall(r'data-start="([\d.]+)"', page)
    assert [float(start) for start in starts] == [1.0, 2.0, 1.0, 2.0]
    found = re.search(r"data:audio/wav;base64,([^\"]+)", page)
    assert found
    with wave.open(io.BytesIO(base64.b64decode(found[1]))) as file:
        assert (file.getframerate(), file.getnframes()) == (8000, 800)
        heard = np.frombuffer(file.readframes(800), "<i2") / 32767
    np.testing.assert_allclose(heard, samples, atol=1e-4)
    assert "<audio" not in sound_page("a", MAPS).decode()


def test_high_bands_are_on_top() -> None:
    one = made("one")[1]._replace(spectrogram=torch.arange(8.0).repeat(50, 1))
    picture = Image.open(io.BytesIO(base64.b64decode(spectrogram_url(one).partition(",")[2])))
    grey = np.asarray(picture.convert("L"))
    assert grey.shape == (8, 50) and grey[0, 0] < grey[-1, 0]  # dark is loud


def test_a_strip_is_darkest_where_the_weight_is_largest() -> None:
    lines = strips([made("one", "two")], Screen(30)).splitlines()
    assert lines[0] == "1.00 to 3.00 s: one two" and len(lines) == 5
    one, two = (line[5:] for line in lines[2:4])
    assert set(one[:4]) == {"█"} and not one[11:].strip()
    assert "█" not in two[:13] and "█" in two[14:20]
    assert all(len(line) <= 30 for line in lines)
    assert "\x1b[" in strips(MAPS, Screen(30, 256))
