"""Log-mel features: the energy of a sound in bands of the mel scale, in overlapping frames.

X_t = |FFT(hann * x_t)|^2,   x_t: a frame centred at t * hop
f_tb = log(max(sum_k M_bk X_tk, 1e-10)),   M: triangular filters      Davis and Mermelstein 1980
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models.core.config import HOP
from models.speech.config import AudioConfig
from models.speech.recordings import Floats

if TYPE_CHECKING:
    from torch import Tensor

FRAME = 25  # ms
LOWEST = 20.0  # Hz
FLOOR = 1e-10  # of an energy, so that silence has a logarithm
RANGE = 70  # dB below the loudest band that are heard, with model.audio.center
KNEE = 0.85  # of the highest frequency: the change of frequencies is linear up to there
BREAK = 1000.0  # Hz: Slaney's scale is linear below and logarithmic above
LINEAR, STEP = 200 / 3, math.log(6.4) / 27  # Hz of a mel below; log Hz of a mel above

Doubles = NDArray[np.float64]


def log_mel(samples: Any, config: AudioConfig, warp: float = 1.0) -> Floats:
    """Return the features (F, bands) of samples (N,) from -1 to 1 at the rate of the settings.

    Each frame is centred; there is one for each whole hop, at least 1. The mean of the samples,
    which a recorder may add, is removed first. Whisper does not remove it, and its features are
    (x + 4) / 4 of decimal logarithms at most 8 below the loudest (Radford et al. 2022).
    warp: factor of the frequencies that the filters look at, as another vocal tract's length has.
    """
    size, hop, width = sizes(config)
    samples = np.asarray(samples, np.float32)
    frames = max(1, len(samples) // hop)
    if not config.padded and len(samples):
        # a constant offset of the recorder would fill the lowest bands
        samples = samples - samples.mean()
    samples = np.pad(samples, (0, max(0, max(size, frames * hop) - len(samples))))
    window = np.pad(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width), (size - width) // 2)
    # as torch.stft does, by which Whisper was trained
    padded = np.pad(samples, size // 2, "reflect")
    each = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop][:frames]
    spectrum = np.fft.rfft(each * window.astype(np.float32))  # (F, K)
    # without the root and the square of abs()
    energies = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    mel = (energies @ filters(config, warp).T).clip(FLOOR)  # (F, bands)
    if config.center:
        mel = mel.clip(mel.max() * 10 ** (-RANGE / 10))
    if not config.padded:
        return np.log(mel)
    log = np.log10(mel)
    return (log.clip(log.max() - 8) + 4) / 4


def sizes(config: AudioConfig) -> tuple[int, int, int]:
    """Return the samples of a Fourier transform, of a hop and of a frame."""
    width = round(config.rate * FRAME / 1000)
    size = width if config.padded else 2 ** math.ceil(math.log2(width))
    return size, round(config.rate * HOP / 1000), width


@lru_cache(maxsize=128)
def filters(config: AudioConfig, warp: float = 1.0) -> Floats:
    """Return the filters (bands, K) of the mel scale over the frequencies of a transform.

    The scale is that of HTK (Young et al. 2006); Whisper has Slaney's, with filters of equal area
    (Slaney 1998).
    warp: their frequencies are multiplied by it, up to those that the highest one limits.
    """
    is_slaney, top = config.padded > 0, config.rate / 2
    first, last = _mel(np.array([0.0 if is_slaney else LOWEST, top]), is_slaney)
    corners = _hertz(np.linspace(first, last, config.bands + 2), is_slaney)  # (bands + 2,)
    if warp != 1:
        knee = KNEE * top * min(warp, 1) / warp  # Jaitly and Hinton 2013, eq. 1
        slope = (top - knee * warp) / (top - knee)
        corners = np.where(corners <= knee, corners * warp, top - slope * (top - corners))
    places = np.linspace(0, config.rate // 2, sizes(config)[0] // 2 + 1)
    slopes = corners[:, None] - places  # (bands + 2, K)
    widths = np.diff(corners)[:, None]
    bank = np.minimum(-slopes[:-2] / widths[:-1], slopes[2:] / widths[1:]).clip(0)
    if is_slaney:
        bank = bank * (2 / (corners[2:] - corners[:-2]))[:, None]
    return bank.astype(np.float32)


def _mel(hertz: Doubles, is_slaney: bool) -> Doubles:
    if not is_slaney:
        return 2595 * np.log10(1 + hertz / 700)
    above = BREAK / LINEAR + np.log(hertz.clip(BREAK) / BREAK) / STEP
    return np.where(hertz < BREAK, hertz / LINEAR, above)


def _hertz(mel: Doubles, is_slaney: bool) -> Doubles:
    if not is_slaney:
        return 700 * (10 ** (mel / 2595) - 1)
    edge = BREAK / LINEAR
    return np.where(mel < edge, LINEAR * mel, BREAK * np.exp(STEP * (mel - edge)))


def padded_frames(features: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Return the features (F, bands) of some sounds as (B, F, bands), and the mask (B, F)."""
    import torch

    source = torch.nn.utils.rnn.pad_sequence([*map(torch.as_tensor, features)], batch_first=True)
    lengths = torch.tensor([*map(len, features)])
    return source, torch.arange(source.shape[1]) < lengths[:, None]
