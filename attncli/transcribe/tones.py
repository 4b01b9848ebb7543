"""Tones as words, made by code: a vocabulary of nine words, each with a melody of its own.

A word is two tones of 120 ms; a speaker has a pitch and a timbre, so that no two recordings of a
word are equal. A recording is a sentence of one to four words.
"""

from __future__ import annotations

import io
import random
import wave
from itertools import product
from typing import NamedTuple

import numpy as np

from attncli.data.embedded import Splits

RATE = 8000  # samples a second
WORDS = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po")  # each with two of the tones
TONES = tuple(product((400.0, 700.0, 1200.0), repeat=2))  # Hz, of each word
LONGEST = 4  # words


class Melody(NamedTuple):
    """A recording and its words."""

    text: str
    samples: np.ndarray  # (N,) from -1 to 1

    @property
    def wav(self) -> bytes:
        """The recording as a WAV file of 16 bits."""
        buffer = io.BytesIO()
        with wave.open(buffer, "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes((self.samples * 32767).astype("<i2").tobytes())
        return buffer.getvalue()


def melody(chance: random.Random) -> Melody:
    """Return a random sentence of tones."""
    numbers = [chance.randrange(len(WORDS)) for _ in range(chance.randint(1, LONGEST))]
    pitch, timbre = chance.uniform(0.9, 1.1), chance.uniform(0.1, 0.5)
    parts = [np.zeros(int(RATE * chance.uniform(0.05, 0.2)))]
    for number in numbers:
        parts += [tone(hertz * pitch, timbre) for hertz in TONES[number]]
        parts.append(np.zeros(int(RATE * chance.uniform(0.05, 0.2))))
    samples = np.concatenate(parts) * chance.uniform(0.2, 0.6)
    noise = np.random.default_rng(chance.getrandbits(32)).standard_normal(len(samples))
    return Melody(" ".join(WORDS[number] for number in numbers), samples + 0.003 * noise)


def tone(hertz: float, timbre: float) -> np.ndarray:
    """Return a tone of 120 ms with an overtone."""
    time = np.arange(int(0.12 * RATE)) / RATE
    waves = np.sin(2 * np.pi * hertz * time) + timbre * np.sin(4 * np.pi * hertz * time)
    return waves * np.hanning(len(time)) / (1 + timbre)


def split(train: int, dev: int, test: int, *, seed: int) -> Splits:
    """Return recordings for training, dev and test."""
    chance = random.Random(seed)
    return Splits(*([melody(chance) for _ in range(count)] for count in (train, dev, test)))
