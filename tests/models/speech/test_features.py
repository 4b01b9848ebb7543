"""Features of sound: equal to those of others, one frame per hop, finite for silence."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from models.speech.config import AudioConfig
from models.speech.features import filters, log_mel

WHISPER = AudioConfig(padded=30)
SMALL = AudioConfig(rate=8000, bands=40)


def noise(seconds: float, rate: int) -> Any:
    samples = np.random.default_rng(1).standard_normal(int(seconds * rate), np.float32)
    return samples * np.float32(0.1)


@pytest.mark.parametrize("config", [SMALL, AudioConfig(), WHISPER], ids=str)
def test_filters_are_those_of_transformers(config: AudioConfig) -> None:
    from transformers.audio_utils import mel_filter_bank

    low, norm, scale = (0, "slaney", "slaney") if config.padded else (20, None, "htk")
    bins, top = filters(config).shape[1], config.rate / 2
    theirs = mel_filter_bank(bins, config.bands, low, top, config.rate, norm=norm, mel_scale=scale)
    np.testing.assert_allclose(filters(config), theirs.T, atol=1e-7)


@pytest.mark.parametrize("samples", [1, 79, 80, 200, 801, 8000])
def test_each_hop_has_a_frame(samples: int) -> None:
    found = log_mel(noise(samples / 8000, 8000), SMALL)
    assert found.shape == (max(1, samples // 80), 40) and np.isfinite(found).all()


def test_silence_and_a_constant_offset_have_finite_features() -> None:
    quiet, loud = np.zeros(4000, np.float32), noise(0.5, 8000)
    assert (log_mel(quiet, SMALL) == log_mel(quiet + 0.5, SMALL)).all()
    assert np.isfinite(log_mel(quiet, SMALL)).all()
    np.testing.assert_allclose(log_mel(loud, SMALL), log_mel(loud + 0.25, SMALL), atol=1e-3)


def test_warped_filters_look_at_other_frequencies_and_stay_below_half_the_rate() -> None:
    hertz = np.linspace(0, 4000, filters(SMALL).shape[1])
    centre = hertz[filters(SMALL).argmax(1)]
    for warp in (0.8, 1.2):
        found = hertz[filters(SMALL, warp).argmax(1)]
        assert np.abs(found[:25] - warp * centre[:25]).max() < 2 * hertz[1]
        assert (filters(SMALL, warp).sum(1) > 0).all()


def test_silence_of_zeros_is_as_far_below_the_loudest_as_is_heard() -> None:
    sound = np.concatenate([noise(0.2, 8000), np.zeros(1600, np.float32)])
    found = log_mel(sound, replace(SMALL, center=True))
    assert found.max() - found.min() == pytest.approx(7 * math.log(10), abs=1e-4)
    assert (found[:15] == log_mel(sound, SMALL)[:15]).all()
